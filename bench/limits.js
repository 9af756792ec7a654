// SPDX-License-Identifier: GPL-3.0-or-later
// limits.js PACKAGES WAY INPUT OUTPUT [DIRECTORY MEMORY_MB THREADS] - sort a file with a package of npm, for bench/limits:
//   duckdb-lines, polars-lines        lines of text, by their first 10 characters
//   duckdb-doubles, polars-doubles    a column of doubles in a Parquet file
//   to-parquet, from-parquet          no sort: bytes of doubles to such a file, and back
// DIRECTORY is for temporary files. Packages are in PACKAGES/node_modules.
'use strict';
const fs = require('fs');
const {createRequire} = require('module');
const [packages, way, input, output, directory, memory, threads] = process.argv.slice(2);
const load = createRequire(packages + '/');

const quoted = text => "'" + text.replaceAll("'", "''") + "'";
const lines = `read_csv(${quoted(input)}, auto_detect = false, header = false, columns = {'l': 'VARCHAR'}, delim = e'\\x01', quote = '')`;
const asLines = "FORMAT csv, HEADER false, DELIMITER e'\\x01', QUOTE ''";
const SEPARATOR = '\x01', NO_QUOTE = '\x02'; // occur in no line

async function duckdb(settings) {
  const {DuckDBInstance} = load('@duckdb/node-api');
  return (await DuckDBInstance.create(':memory:', settings)).connect();
}

async function duckdbSort(query, format) {
  const c = await duckdb({temp_directory: directory, memory_limit: memory + 'MB', threads});
  await c.run('SET preserve_insertion_order = false');
  await c.run(`COPY (${query}) TO ${quoted(output)} (${format})`);
}

async function toParquet() {
  const {DuckDBDataChunk, DOUBLE} = load('@duckdb/node-api');
  const c = await duckdb({});
  await c.run('CREATE TABLE t(x DOUBLE)');
  const appender = await c.createAppender('t');
  const file = fs.openSync(input, 'r'), block = Buffer.alloc(8 * 2048);
  for (let got; (got = fs.readSync(file, block)) > 0;) {
    const chunk = DuckDBDataChunk.create([DOUBLE], got / 8);
    chunk.setColumnValues(0, Array.from(new Float64Array(block.buffer, block.byteOffset, got / 8)));
    appender.appendDataChunk(chunk);
  }
  appender.closeSync();
  await c.run(`COPY t TO ${quoted(output)} (FORMAT parquet, COMPRESSION uncompressed)`);
}

async function fromParquet() {
  const c = await duckdb({});
  const result = await c.stream(`SELECT x FROM read_parquet(${quoted(input)})`);
  const file = fs.openSync(output, 'w');
  for (let chunk; (chunk = await result.fetchChunk()) && chunk.rowCount > 0;)
    fs.writeSync(file, new Uint8Array(Float64Array.from(chunk.getColumnVector(0).toArray()).buffer));
}

const polars = {
  lines(pl) {
    return pl.scanCSV(input, {hasHeader: false, sep: SEPARATOR, quoteChar: NO_QUOTE, schema: {l: pl.Utf8}, lowMemory: true})
      .sort(pl.col('l').str.slice(0, 10))
      .sinkCSV(output, {includeHeader: false, separator: SEPARATOR, quoteChar: NO_QUOTE});
  },
  doubles(pl) {
    return pl.scanParquet(input, {lowMemory: true}).sort('x')
      .sinkParquet(output, {compression: 'uncompressed', sinkOptions: {syncOnClose: 'all', maintainOrder: true, mkdir: false}});
  },
};

function polarsSort(kind) {
  return polars[kind](load('nodejs-polars')).collectSync('streaming'); // the engine that may write to the disk
}

const ways = {
  'duckdb-lines': () => duckdbSort(`SELECT l FROM ${lines} ORDER BY l[1:10]`, asLines),
  'duckdb-doubles': () => duckdbSort(`SELECT x FROM read_parquet(${quoted(input)}) ORDER BY x`,
    'FORMAT parquet, COMPRESSION uncompressed'),
  'polars-lines': () => polarsSort('lines'),
  'polars-doubles': () => polarsSort('doubles'),
  'to-parquet': toParquet,
  'from-parquet': fromParquet,
};

if (!ways[way]) {
  console.error('usage: limits.js PACKAGES WAY INPUT OUTPUT [DIRECTORY MEMORY_MB THREADS]; see its first lines');
  process.exit(2);
}
Promise.resolve().then(ways[way]).then(
  () => fs.fsyncSync(fs.openSync(output, 'r+')),
  error => {
    console.error(String(error.message || error).split('\n')[0]);
    process.exit(1);
  });
