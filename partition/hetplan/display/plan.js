// SPDX-License-Identifier: GPL-3.0-or-later
// plan.js - the page of a plan of hetplan: the answer, its chart and, with --compare, a table of the methods. Times are in
// the unit of the costs, which only the user knows.
'use strict';

const KINDS = ['receive', 'send', 'compute'];
const COLOURS = ['k1', 'k3', 'k0'];
const answer = objectOf(data.answer);
const methods = listOf(objectOf(data.comparison).methods).filter(isObject);
const bars = listOf(data.bars).filter((b) => Array.isArray(b) && b.every(isNumber)); // [row, kind, start, end]
const rows = listOf(data.names).map((label, i) => ({ label: textOf(label), index: i, bars: bars.filter((b) => b[0] === i) }));
const end = most(bars.map((b) => b[3]));

const number = (v) => (isNumber(v) ? String(Number(v.toPrecision(7))) : textOf(v));
const COST = 'units of the cost';
const NAME_OF = { real: 'before rounding', real_makespan: 'makespan before rounding', counts: 'count', shares: 'share', times: 'time', gap_percent: 'gap' };
const UNIT_OF = { shares: 'items', counts: 'processes', real: answer.counts ? 'processes' : 'items', gap_percent: '%' };
for (const key of ['times', 'makespan', 'real_makespan', 'lower_bound', 'planned_makespan', 'flow', 'planned_flow', 'load_ends', 'total_by_root']) UNIT_OF[key] = COST;
const words = (key) => (NAME_OF[key] ?? key.replace(/_/g, ' ')) + (UNIT_OF[key] ? `, ${UNIT_OF[key]}` : '');

function head() {
  document.title = `hetplan: ${textOf(data.title)}`;
  identity('hetplan plan', textOf(answer.op), rows.length ? plural(rows.length, 'processor') : '');
  page.append(html('h1', {}, textOf(data.title)));
  const shown = Object.entries(answer).filter(([key, v]) => key !== 'status' && key !== 'op' && (isNumber(v) || typeof v === 'string' || typeof v === 'boolean'));
  page.append(figures(shown.map(([key, v]) => [words(key), number(v)])));
}

// Show the lists of the answer that have a number for each processor as columns.
function plan() {
  const lists = Object.entries(answer).filter(([, v]) => Array.isArray(v) && v.length > 0 && v.every(isNumber));
  const size = Math.max(0, ...lists.map(([, v]) => v.length));
  const columns = lists.filter(([, v]) => v.length === size);
  if (size === 0) return;
  const name = (i) => (rows.length === size ? rows[i].label : `P${i}`);
  section('Plan', scroll('Plan', table([{ head: 'processor', value: name },
    ...columns.map(([key, v]) => ({ head: words(key), number: true, value: (i) => number(v[i]) }))], Array.from({ length: size }, (_, i) => i))));
}

// Return the intervals [from, to] in which a processor is idle, except those shorter than a pixel.
function idleOf(row) {
  const least = 1e-3 * end;
  const idle = [];
  let at = 0;
  for (const [, , from, to] of [...row.bars].sort((a, b) => a[2] - b[2])) {
    if (from - at > least) idle.push([at, from]);
    at = Math.max(at, to);
  }
  return end - at > least ? [...idle, [at, end]] : idle;
}

// Draw a chart. If messages and computations overlap, each processor has a lane (half a row) for either.
function chart() {
  if (!(end > 0)) return;
  const lanes = data.overlap === true;
  const last = (row) => most(row.bars.map((b) => b[3]));
  const paint = (row, y, h, x) => [
    ...idleOf(row).map(([from, to]) => titled(rect('wait', x(from), y, x(to) - x(from), h), `${row.label}: idle from ${number(from)} to ${number(to)} ${COST}`)),
    ...row.bars.map(([, kind, from, to]) => titled(rect(COLOURS[kind], x(from), lanes && kind === 2 ? y + h / 2 : y, x(to) - x(from), lanes ? h / 2 - 0.5 : h,
      { stroke: 'var(--ground)', 'stroke-width': x(to) - x(from) > 4 ? 0.6 : 0 }), `${row.label}: ${KINDS[kind]} from ${number(from)} to ${number(to)} ${COST}`))];
  const kinds = KINDS.map((k, i) => [COLOURS[i], k]).filter((_, i) => bars.some((b) => b[1] === i));
  section('Chart', para('When each processor receives, sends and computes; the last one ends at ', number(end), ` ${COST}.`),
    legend([...kinds, ...(rows.some((row) => idleOf(row).length) ? [['wait', 'idle']] : [])]),
    rowPicture({ label: `Who does what when, until ${number(end)} ${COST}`, rows, end, say: number, paint, time: true, ends: (row) => [end, number(last(row))] }),
    asTable('What each processor does when', table([{ head: 'processor', value: (b) => rows[b[0]].label }, { head: 'what', value: (b) => KINDS[b[1]] },
      { head: `from, ${COST}`, number: true, value: (b) => number(b[2]) }, { head: `to, ${COST}`, number: true, value: (b) => number(b[3]) }],
    [...bars].sort((a, b) => a[0] - b[0] || a[2] - b[2]))));
}

function comparison() {
  if (methods.length === 0) return;
  const top = most(methods.map((m) => m.makespan));
  const shown = methods.filter((m) => isNumber(m.makespan)).map((m) => ({ label: textOf(m.method), makespan: m.makespan }));
  const bound = numberOf(data.comparison.bound);
  const paint = (row, y, h, x) => [titled(rect('is', x(0), y, x(row.makespan) - x(0), h), `${row.label}: ${number(row.makespan)} ${COST}`),
    line('mark', x(bound), y - 2, x(bound), y + h + 2)];
  section('Methods', para(`The makespan of each method; the line is ${data.comparison.bound_proven === true ? 'a proven bound' : 'the best of these'}, ${number(bound)} ${COST}.`),
    legend([['is', 'makespan'], ['mark', 'bound']]),
    rowPicture({ label: 'Makespans of the methods', rows: shown, end: top, say: number, paint, ends: (row) => [row.makespan, number(row.makespan)] }),
    scroll('Methods', table([{ head: 'method', value: (m) => textOf(m.method) },
      ...[[`first end, ${COST}`, 'earliest'], [words('makespan'), 'makespan'], [words('gap_percent'), 'gap_percent']].map(([title, key]) => ({ head: title, number: true, value: (m) => (key === 'gap_percent' && isNumber(m[key]) ? digits(m[key]) : number(m[key])) })),
      { head: 'planned in', number: true, value: (m) => (isNumber(m.seconds) ? seconds(m.seconds) : '') },
      ...(methods.some((m) => m.message) ? [{ head: '', wide: true, value: (m) => textOf(m.message) }] : [])], methods)));
}

head();
plan();
chart();
comparison();
const asJson = (label, value) => folded(label, html('pre', { class: 'code scroll', tabindex: '0' }, JSON.stringify(value, null, 1)));
section('As JSON', asJson('The request', data.request), asJson('The answer', answer));
show();
