// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a report of hetsort. A report of a failed job or an older version may lack any member; the page omits
// what depends on missing members. More than 64 ranks are shown by host or in groups; tables show all ranks.
'use strict';

const MOST_ROWS = 64;
const PHASES = { read: 'k0', sort: 'k1', sample: 'k3', split: 'k3', exchange: 'k3', merge: 'k4', write: 'k5', sync: 'k6' };
const OTHER_PHASES = 'k2';
const phaseClass = (name) => PHASES[name] || OTHER_PHASES;

// --------------------------------------------------------------------------------------------------------------- ranks

const ranks = listOf(data.ranks).filter(isObject);
const part = (rank, name) => objectOf(rank[name]);
const phasesOf = (rank) => Object.entries(part(rank, 'phases_s')).filter(([, s]) => isNumber(s));
const busyOf = (rank) => sum(phasesOf(rank).map(([name, s]) => (name === 'exchange' ? 0 : s))); // exchange is waiting for blocks
const spansOf = (rank) => listOf(rank.timeline).filter((s) => isObject(s) && isNumber(s.begin_s) && isNumber(s.end_s));
const failed = data.status !== 'ok';
const settings = objectOf(data.config);
const recordBytes = numberOf(settings.record_bytes);
const use = objectOf(data.use);
const worked = ranks.some((r) => spansOf(r).some((s) => !['describe', 'plan'].includes(s.phase))); // false: refused before it worked
const total_s = numberOf(data.total_s) || most(ranks.flatMap(spansOf).map((s) => s.end_s));
const critical = ranks.length > 1 ? ranks.reduce((top, r) => (busyOf(r) > busyOf(top) ? r : top)) : null;
const hosts = new Map();
for (const r of ranks) hosts.set(textOf(r.host), [...(hosts.get(textOf(r.host)) || []), r]);

function blocks(list) {
  const each = Math.ceil(list.length / MOST_ROWS);
  return Array.from({ length: Math.ceil(list.length / each) }, (_, i) => list.slice(i * each, (i + 1) * each));
}
function groups() {
  if (ranks.length <= MOST_ROWS) return ranks.map((r) => ({ label: `${textOf(r.rank)} ${textOf(r.host)}`, ranks: [r] }));
  if (hosts.size > 1 && hosts.size <= MOST_ROWS)
    return [...hosts].map(([host, list]) => ({ label: `${host} (${list.length})`, ranks: list }));
  return blocks(ranks).map((list) => ({ label: `${textOf(list[0].rank)}–${textOf(list[list.length - 1].rank)}`, ranks: list }));
}
const rows = groups().map((g) => ({ ...g, critical: g.ranks.includes(critical),
  slowest: g.ranks.reduce((top, r) => (busyOf(r) > busyOf(top) ? r : top)) }));
const grouped = rows.length < ranks.length;
const groupWord = hosts.size > 1 && hosts.size <= MOST_ROWS ? 'host' : 'group of ranks';
const total = (row, of) => sum(row.ranks.map(of));
const RANK = [{ head: 'rank', number: true, value: (r) => textOf(r.rank) }, { head: 'host', value: (r) => textOf(r.host) }];
const rankTable = (...columns) => table([...RANK, ...columns], ranks, (r) => r === critical);
const column = (head, value) => ({ head, number: true, value });

// ------------------------------------------------------------------------------------------------------------- verdict

function sentence() {
  const what = isNumber(data.records) && data.records > 0 ? plural(data.records, 'record') : 'the records';
  const where = ranks.length === 0 ? '' : ` on ${plural(ranks.length, 'rank')}${hosts.size > 1 ? ` of ${hosts.size} hosts` : ''}`;
  if (!failed) return `Sorted ${what}${recordBytes ? `, ${bytes(data.records * recordBytes)},` : ''} in ${seconds(total_s)}${where}`;
  if (typeof data.signal === 'string') return `Not sorted: interrupted by ${data.signal}`;
  if (data.status === 'refused') return 'Not sorted: the job was refused';
  return `Not sorted: the job failed (${textOf(data.status) || 'unknown'})${total_s > 0 ? ` after ${seconds(total_s)}` : ''}${where}`;
}

function figures(entries) {
  const shown = entries.filter(([, value]) => value !== null);
  return html('dl', { class: 'figures' }, ...shown.map(([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value))));
}

const command = listOf(data.command).map(textOf).join(' ');

function identify() {
  const base = (path) => textOf(path).replace(/.*\/(?=.)/, '');
  const names = listOf(data.inputs), more = names.length > 1 ? ` and ${names.length - 1} more` : '';
  identity('hetsort report', hosts.size === 1 ? [...hosts.keys()][0] : hosts.size > 1 ? `${hosts.size} hosts` : '',
    names.length ? `${base(names[0])}${more} → ${base(data.output) || 'no output'}` : '', command);
}

function verdict() {
  const moved = numberOf(data.records) * recordBytes;
  document.title = `hetsort: ${sentence()}`;
  page.append(html('h1', { class: failed ? 'bad' : 'good' }, sentence()));
  page.append(faint('Started ', moment(data.started), ', ended ', moment(data.date), '.'));
  if (!worked) return;
  page.append(figures([
    ['time', total_s > 0 ? seconds(total_s) : null],
    ['rate', !failed && moved > 0 && total_s > 0 ? rate(moved / total_s) : null],
    ['balance (1 is perfect)', critical && numberOf(data.balance) > 0 ? digits(data.balance) : null],
    ['busiest rank', critical ? `${textOf(critical.rank)}: ${seconds(busyOf(critical))}` : null],
    [critical ? 'most memory of a rank' : 'memory', bytes(most(ranks.map((r) => part(r, 'bytes').arrays_peak)))],
    ['core-seconds per GB', numberOf(use.core_s_per_gb) > 0 ? digits(use.core_s_per_gb) : null],
    ['joules per GB', numberOf(use.joules_per_gb) > 0 ? digits(use.joules_per_gb) : null],
    ['bound by the', !failed && use.bound ? textOf(use.bound) : null],
    ['processors used', !failed && use.bound ? `${Math.round(100 * numberOf(use.busy_part))} %` : null],
    ['runs on disk', bytes(sum(ranks.map((r) => part(r, 'memory').spill_bytes)))],
  ]));
}

function messages() {
  const same = new Map(); // the same message of several ranks is shown once
  for (const r of ranks.filter((x) => isObject(x.error))) {
    const words = textOf(r.error.message) || 'gave no reason';
    same.set(words, [...(same.get(words) || []), r]);
  }
  for (const [words, list] of same) {
    const who = list.length > 1 ? `${list.length} ranks, the first is ` : '';
    page.append(html('div', { class: 'notice error' }, html('strong', {}, `${who}rank ${textOf(list[0].rank)} (${textOf(list[0].host)}): `), words));
  }
  if (failed && ranks.length === 0)
    page.append(html('div', { class: 'notice error' }, 'The job ended before its ranks could report; see its messages on standard error.'));
  for (const note of listOf(data.notes)) page.append(html('div', { class: 'notice' }, html('strong', {}, 'Note: '), textOf(note)));
}

// ---------------------------------------------------------------------------------------------------- plan and reality

// A rank that waits for its link does not work, so its seconds cannot be compared.
const comparable = (r) => numberOf(r.predicted_s) > 0 && busyOf(r) > 0 && r.bound_by !== 'link';
const deviation = (r) => (comparable(r) ? 100 * (busyOf(r) / r.predicted_s - 1) : null);

// Measured rates predict seconds. Nominal rates only predict how ranks compare. Then planned and real times are shown
// relative to the mean of the ranks, unless there is only one rank.
const measured = settings.rates_measured === true;
const times = (v) => (isNumber(v) ? `${digits(v)} ×` : MISSING);
UNITS.set(times, [['×', 1]]);

function planned() {
  const known = ranks.filter(comparable);
  if (failed || known.length === 0 || (!measured && !critical)) return;
  const mean = (of) => (measured ? 1 : sum(known.map(of)) / known.length);
  const mean_took = mean(busyOf), mean_planned = mean((r) => r.predicted_s);
  const took = (r) => busyOf(r) / mean_took, plan = (r) => numberOf(r.predicted_s) / mean_planned;
  const say = measured ? seconds : times, slower = sum(known.map(busyOf)) / sum(known.map((r) => r.predicted_s));
  const part_of = (r, kind) => (100 * numberOf(part(r, 'records')[kind])) / sum(ranks.map((k) => part(k, 'records')[kind])) || 0;
  const shareText = (r, kind) => `${part_of(r, kind).toFixed(1)} %`;
  const paint = ({ slowest: r }, y, h, x) => [
    titled(rect('is', x(0), y, x(took(r)) - x(0), h), `rank ${textOf(r.rank)}: took ${say(took(r))}, planned ${say(plan(r))}`),
    plan(r) > 0 ? line('mark', x(plan(r)), y - 1, x(plan(r)), y + h + 1) : null];
  section('Plan against reality',
    measured ? para('Seconds that each rank worked, and those that the plan predicted from the rates that the ranks measured.')
      : para('How long each rank worked, relative to the mean of the ranks (1 ×), and what the plan predicted. Rates were not measured, so the plan \
knows how ranks compare, not how many seconds they take; ', html('code', {}, '--speeds=auto'), ' measures them.'),
    measured && (slower > 1.5 || slower < 0.67) ? para(`Together they took ${digits(slower)} times the predicted seconds: processors or disks were \
${slower > 1 ? 'slower or busier' : 'faster'} during the job than while the ranks measured.`) : null,
    grouped ? para(`Each row is the busiest rank of a ${groupWord}.`) : null,
    legend([['is', 'took'], ['mark', 'plan']]),
    rowPicture({ label: `Time taken and planned, ${plural(rows.length, 'row')}`, rows, say, paint,
      end: most(rows.flatMap(({ slowest: r }) => [took(r), plan(r)])), ends: ({ slowest: r }) => [took(r), say(took(r))] }),
    asTable('Plan and reality of each rank', rankTable(
      column('speed', (r) => (isNumber(r.speed) ? digits(r.speed) : MISSING)),
      column('planned to read', (r) => count(part(r, 'records').planned_in)), column('read', (r) => count(part(r, 'records').in)),
      column('planned to write', (r) => count(part(r, 'records').planned_out)), column('written', (r) => count(part(r, 'records').out)),
      column('share planned', (r) => shareText(r, 'planned_out')), column('share written', (r) => shareText(r, 'out')),
      column('bound by', (r) => textOf(r.bound_by)), column('planned', (r) => say(plan(r))), column('took', (r) => say(took(r))), column('seconds', (r) => seconds(busyOf(r))),
      column('difference', (r) => (plan(r) > 0 && took(r) > 0 ? percent(100 * (took(r) / plan(r) - 1)) : MISSING)))));
}

// ------------------------------------------------------------------------------------------------------------ timeline

// Pieces of a rank's time, one after the other: the work of a phase, then how long the rank waited for others in it. Time
// in no span is waiting, too. One rank has nobody to wait for.
function piecesOf(rank) {
  const pieces = [];
  let at = 0;
  const add = (to, phase, wait) => {
    if (to > at && (critical || !wait)) pieces.push({ phase, wait, from: at, to });
    at = Math.max(at, to);
  };
  for (const s of spansOf(rank)) {
    add(s.begin_s, '', true);
    add(s.end_s - (critical ? Math.min(numberOf(s.wait_s), s.end_s - s.begin_s) : 0), s.phase, false);
    add(s.end_s, s.phase, true);
  }
  add(total_s, '', true);
  return pieces;
}
const waitedOf = (rank) => sum(piecesOf(rank).filter((p) => p.wait).map((p) => p.to - p.from));

// Some phases have the work of another one in them.
const HOLDS = { read: 'sort', merge: 'write' };
function wordsOf(rank, phase) {
  const other = HOLDS[phase];
  return other && part(rank, 'phases_s')[other] > 0 && !spansOf(rank).some((s) => s.phase === other) ? `${phase}, ${other}` : textOf(phase);
}

function piece(rank, p, y, h, x) {
  const width = x(p.to) - x(p.from), cls = p.wait ? 'wait' : phaseClass(p.phase);
  const name = p.wait ? 'wait' : wordsOf(rank, p.phase);
  const bar = titled(rect(cls, x(p.from), y, width, h), `${p.wait && p.phase ? `${p.phase}, ` : ''}${name}: ${seconds(p.to - p.from)}`);
  if (p.wait || h < 16 || width < widthOf(name) + 8) return [bar];
  return [bar, text(cls === 'k0' ? 'on-dark' : 'on-light', x(p.from) + 4, y + h / 2 + 4, name, { 'aria-hidden': 'true', 'pointer-events': 'none' })];
}

function timeline() {
  if (!ranks.some((r) => spansOf(r).length)) return;
  const names = [...new Set(ranks.flatMap((r) => spansOf(r).map((s) => wordsOf(r, textOf(s.phase)))))];
  const kind = (name) => phaseClass(name.replace(/,.*/, ''));
  const entries = [...new Set(names.map(kind))].sort().map((cls) => [cls, names.filter((n) => kind(n) === cls).join(', ')]);
  const paint = (row, y, h, x) => [
    ...piecesOf(row.slowest).flatMap((p) => piece(row.slowest, p, y, h, x)),
    row.critical ? rect('critical', x(0), y - 1, x(total_s) - x(0), h + 2, { 'pointer-events': 'none' }) : null];
  section('Timeline',
    para(`The phases of ${grouped ? `the busiest rank of each ${groupWord}` : critical ? 'each rank' : 'the rank'} over time. ${critical ? `The hatched end of a phase is how long the rank \
waited in it for other ranks: for their blocks, in collective calls and for the slowest. ▶ and a frame mark rank ${textOf(critical.rank)}, which worked longest.` : ''}`),
    legend([...entries, ...(critical ? [['wait', 'waiting for other ranks']] : [])]),
    rowPicture({ label: `Phases over ${seconds(total_s)}, ${plural(rows.length, 'row')}`, rows, end: total_s, say: seconds, paint, time: true,
      ends: ({ slowest: r }) => (critical ? [total_s, `waits ${Math.round((100 * waitedOf(r)) / total_s)} %`] : null) }),
    asTable('When phases began and ended', table([...RANK.map((c) => ({ ...c, value: (e) => c.value(e.rank) })),
      { head: 'phase', value: (e) => textOf(e.span.phase) }, column('began', (e) => seconds(e.span.begin_s)),
      column('ended', (e) => seconds(e.span.end_s)), column('lasted', (e) => seconds(e.span.end_s - e.span.begin_s)), column('waited', (e) => seconds(e.span.wait_s))],
    ranks.flatMap((rank) => spansOf(rank).map((s) => ({ rank, span: s }))), (e) => e.rank === critical)));
}

// ------------------------------------------------------------------------------------------------------------ activity

const ACTIVITY = [['read', 'Read from files'], ['written', 'Written to files'], ['sent', 'Sent to other ranks']];
const activityOf = (rank) => part(rank, 'activity');
const flow = (rank, kind) => listOf(activityOf(rank)[kind]);
const stepOf = (rank) => numberOf(activityOf(rank).step_s);

// The bytes per second of a row, in columns as wide as the longest step of any rank.
function heatOf(row, kind, step_s, columns) {
  const out = new Array(columns).fill(0);
  for (const r of row.ranks)
    flow(r, kind).forEach((b, i) => {
      const at = Math.min(columns - 1, Math.floor(((i + 0.5) * stepOf(r)) / step_s));
      out[at] += numberOf(b) / step_s;
    });
  return out;
}

function heatMap(kind, title, step_s, columns) {
  const heat = new Map(rows.map((row) => [row, heatOf(row, kind, step_s, columns)]));
  const top = most([...heat.values()].flat());
  if (!(top > 0)) return null;
  const paint = (row, y, h, x) => [rect('ground', x(0), y - 2, x(total_s) - x(0), h + 4),
    ...heat.get(row).map((v, i) => (v > 0 && i * step_s < total_s ? titled(
      rect('heat', x(i * step_s), y - 2, x(Math.min((i + 1) * step_s, total_s)) - x(i * step_s), h + 4, { 'fill-opacity': (0.06 + 0.94 * (v / top)).toFixed(3) }),
      `${row.label}: ${rate(v)}, ${seconds(i * step_s)} to ${seconds((i + 1) * step_s)}`) : null))];
  return html('div', {}, html('h3', {}, `${title}, at most ${rate(top)}`),
    rowPicture({ label: `${title}, at most ${rate(top)}`, rows, end: total_s, say: seconds, paint, time: true,
      ends: (row) => [total_s, bytes(step_s * sum(heat.get(row)))] }));
}

function activity() {
  const step_s = most(ranks.map(stepOf));
  if (!(step_s > 0 && total_s > 0)) return;
  const columns = Math.max(1, most(ranks.map((r) => Math.ceil((flow(r, 'read').length * stepOf(r)) / step_s - 1e-6))));
  const maps = ACTIVITY.map(([kind, title]) => heatMap(kind, title, step_s, columns)).filter((m) => m !== null);
  if (maps.length === 0) return;
  const peak = (r, kind) => (stepOf(r) > 0 ? most(flow(r, kind)) / stepOf(r) : null);
  section('Activity', para(`Bytes per second in steps of ${seconds(step_s)}, runs on disk included; the stronger the colour, the more. At the end of a row is the sum. ${grouped ? `Each row is a ${groupWord}, all its ranks together.` : ''}`),
    ...maps, asTable('Bytes and highest rates of each rank', rankTable(
      ...ACTIVITY.flatMap(([kind]) => [column(kind, (r) => bytes(sum(flow(r, kind)))), column('at most', (r) => rate(peak(r, kind)))]))));
}

// ------------------------------------------------------------------------------------------------------------- balance

function phaseBars(row, y, h, x) {
  let at = 0;
  const out = [];
  for (const [name, s] of phasesOf(row.slowest)) {
    if (name === 'exchange' || s <= 0) continue;
    out.push(titled(rect(phaseClass(name), x(at), y, x(at + s) - x(at), h), `${name}: ${seconds(s)}`));
    at += s;
  }
  return out;
}

function adapted() {
  const before = (r) => part(r, 'records').planned_out_before, after = (r) => part(r, 'records').planned_out;
  if (!isObject(data.adapt) || !ranks.some((r) => isNumber(before(r)))) return [];
  const end = most(rows.flatMap((row) => [total(row, before), total(row, after)]));
  const say = (v) => scaled(v, ['', 'k', 'M', 'G']);
  const paint = (row, y, h, x) => [['is before', before], ['is', after]].map(([cls, of], i) =>
    titled(rect(cls, x(0), y + (i * h) / 2, x(total(row, of)) - x(0), h / 2 - 0.5), `${row.label}: ${count(total(row, of))} records ${i ? 'after' : 'before'}`));
  const gain = numberOf(data.adapt.predicted_gain);
  return [html('h3', {}, 'Shares before and after --adapt'),
    para(`Shares were ${textOf(data.adapt.shares) || 'not examined'}${gain > 0 ? `; the predicted gain was ${(100 * gain).toFixed(0)} % of the time that was left` : ''}.`),
    legend([['is before', 'records to write, before'], ['is', 'after']]),
    rowPicture({ label: 'Records to write before and after adapting', rows, end, say, paint,
      ends: (row) => [Math.max(total(row, before), total(row, after)), say(total(row, after))] }),
    asTable('Shares before and after', rankTable(column('before', (r) => count(before(r))), column('after', (r) => count(after(r))),
      column('speed seen', (r) => (isNumber(r.speed_seen) ? digits(r.speed_seen) : MISSING))))];
}

function balance() {
  const end = most(ranks.map(busyOf));
  if (!(end > 0 && critical)) return;
  const mean = sum(ranks.map(busyOf)) / ranks.length;
  const names = [...new Set(ranks.flatMap((r) => phasesOf(r).map(([name]) => name)))].filter((n) => n !== 'exchange');
  const seen = names.filter((n) => ranks.some((r) => part(r, 'phases_s')[n] > 0));
  const paint = (row, y, h, x) => [...phaseBars(row, y, h, x), line('mark', x(mean), y - 2, x(mean), y + h + 2)];
  section('Balance',
    para(`Seconds that ${grouped ? `the busiest rank of each ${groupWord}` : 'each rank'} spent in each phase, without waiting for blocks or for slower ranks at its end. The busiest rank took ${digits(end / mean)} times the mean of all ranks, ${seconds(mean)}.`),
    legend([['k0', 'read'], ['k1', 'sort'], ['k3', 'sample, split'], ['k4', 'merge'], ['k5', 'write'], ['k6', 'sync'], ['k2', 'other'], ['mark', 'mean']]
      .filter(([cls]) => cls === 'mark' || seen.some((n) => phaseClass(n) === cls))),
    rowPicture({ label: `Seconds worked, mean ${seconds(mean)}`, rows, end, say: seconds, paint,
      ends: (row) => [busyOf(row.slowest), seconds(busyOf(row.slowest))] }),
    asTable('Seconds of each phase', rankTable(...names.map((n) => column(n, (r) => seconds(part(r, 'phases_s')[n]))),
      column('lanes', (r) => r.lanes ?? 1), column('busy', (r) => seconds(busyOf(r))), column('exchange', (r) => seconds(part(r, 'phases_s').exchange)), column('wait', (r) => seconds(r.wait_s)))),
    ...adapted());
}

// ------------------------------------------------------------------------------------------------------------ exchange

function matrix() {
  const top = most(ranks.flatMap((r) => listOf(r.sent_to)));
  if (!(top > 0)) return null;
  const cell = (v) => html('td', { class: 'number', style: `background: rgba(var(--heat), ${(0.55 * (numberOf(v) / top)).toFixed(3)})` }, numberOf(v) > 0 ? bytes(v) : '');
  const name = (r) => html('th', { scope: 'col', class: 'number' }, `to ${textOf(r.rank)}`);
  return scroll('Bytes from rank to rank', html('table', { class: 'matrix' }, html('thead', {}, html('tr', {}, html('th', { scope: 'col' }, 'from'), ...ranks.map(name))),
    html('tbody', {}, ...ranks.map((r) => html('tr', {}, html('th', { scope: 'row' }, `${textOf(r.rank)} ${textOf(r.host)}`), ...listOf(r.sent_to).map(cell))))));
}

function exchange() {
  const of = (r, kind) => part(r, 'bytes')[kind];
  const end = most(rows.flatMap((row) => [total(row, (r) => of(r, 'sent')), total(row, (r) => of(r, 'received'))]));
  if (!(end > 0)) return;
  const paint = (row, y, h, x) => [['heat', 'sent'], ['heat other', 'received']].map(([cls, kind], i) =>
    titled(rect(cls, x(0), y + (i * h) / 2, x(total(row, (r) => of(r, kind))) - x(0), h / 2 - 0.5), `${row.label}: ${bytes(total(row, (r) => of(r, kind)))} ${kind}`));
  const pairs = matrix();
  section('Exchange', para('Bytes of records that each rank sent and received.'), pairs,
    legend([['heat', 'sent'], ['heat other', 'received']]),
    rowPicture({ label: 'Bytes sent and received', rows, end, say: bytes, paint, ends: (row) => {
      const [sent, received] = ['sent', 'received'].map((kind) => total(row, (r) => of(r, kind)));
      return [Math.max(sent, received), `${bytes(sent)}, ${bytes(received)}`];
    } }),
    asTable('Bytes sent and received', rankTable(column('sent', (r) => bytes(of(r, 'sent'))), column('received', (r) => bytes(of(r, 'received'))))));
}

// --------------------------------------------------------------------------------------------------------------- memory

const limitOf = (r) => part(r, 'memory').limit_bytes; // null: none

function memory() {
  const held = (r) => part(r, 'bytes').arrays_peak, plan = (r) => part(r, 'memory').planned_bytes;
  if (!ranks.some((r) => held(r) > 0)) return;
  const top = (row, of) => most(row.ranks.map(of));
  const used = most(ranks.flatMap((r) => [held(r), plan(r)]));
  const limits = ranks.map(limitOf).filter(isNumber);
  const near = limits.length > 0 && most(limits) < 4 * used; // a far larger limit would leave no room for the bars
  const end = near ? Math.max(used, most(limits)) : used;
  const paint = (row, y, h, x) => [titled(rect('is', x(0), y, x(top(row, held)) - x(0), h), `${row.label}: held ${bytes(top(row, held))}, planned ${bytes(top(row, plan))}`),
    line('mark', x(top(row, plan)), y - 1, x(top(row, plan)), y + h + 1),
    near && top(row, limitOf) > 0 ? line('mark limit', x(top(row, limitOf)), y - 2, x(top(row, limitOf)), y + h + 2) : null];
  section('Memory', para(`Most memory that ${grouped ? `a rank of each ${groupWord}` : 'each rank'} held for records. ${limits.length === 0 ? 'There was no limit.'
    : near ? `The limit is ${bytes(most(limits))}.` : `The limit, ${bytes(most(limits))}, is far beyond the picture.`} Runs on disk: ${bytes(sum(ranks.map((r) => part(r, 'memory').spill_bytes)))}.`),
    legend([['is', 'held'], ['mark', 'plan'], ...(near ? [['mark limit', 'limit']] : [])]),
    rowPicture({ label: 'Memory held and planned', rows, end, say: bytes, paint,
      ends: (row) => [top(row, held), bytes(top(row, held))] }),
    asTable('Memory of each rank', rankTable(column('held', (r) => bytes(held(r))), column('planned', (r) => bytes(plan(r))), column('limit', (r) => (isNumber(limitOf(r)) ? bytes(limitOf(r)) : 'none')),
      column('process', (r) => bytes(part(r, 'bytes').process_peak)), column('runs', (r) => count(part(r, 'memory').spill_runs)), column('on disk', (r) => bytes(part(r, 'memory').spill_bytes)),
      { head: 'where the limit comes from', wide: true, value: (r) => textOf(part(r, 'memory').limit) })));
}

// ------------------------------------------------------------------------------------------------------------- machine

function pairs(label, entries) {
  const row = ([name, v]) => html('tr', {}, html('th', { scope: 'row' }, name), html('td', { class: 'wide' }, v));
  return scroll(label, html('table', {}, html('tbody', {}, ...entries.filter(([, v]) => v !== '' && v !== null).map(row))));
}

const BINDINGS = { none: 'no', rank: 'the rank', threads: 'each thread to one' };
const bindingOf = (r) => BINDINGS[textOf(r.binding)] || '';

function machine() {
  const versions = objectOf(data.versions), config = Object.entries(settings);
  const unique = (of) => [...new Set(ranks.map(of))].filter((v) => v !== '');
  section('Machine',
    pairs('machine', [['command', html('span', { class: 'code' }, command || MISSING)], ['hosts', [...hosts].map(([h, list]) => `${h} (${plural(list.length, 'rank')})`).slice(0, 100).join(', ')],
      ['processors', unique((r) => textOf(r.cpu_model)).join(', ')], ['threads of a rank', unique((r) => textOf(r.threads)).join(', ')],
      ['NUMA nodes of a rank', unique((r) => textOf(r.numa_nodes)).join('; ')], ['bound to them', unique(bindingOf).join(', ')],
      ['ranks are', textOf(versions.ranks)], ['kernel', textOf(versions.kernel)], ['hetsort', textOf(versions.hetsort)],
      ['compiler', textOf(versions.compiler)], ['build', textOf(versions.build)], ['commit', textOf(versions.commit)], ...(data.exit_code === 0 ? [['checksum', textOf(data.checksum)]] : []), ['exit code', textOf(data.exit_code)]]),
    ranks.length ? folded('Ranks and the processors that they may use', scroll('Ranks', rankTable(column('pid', (r) => textOf(r.pid)), column('threads', (r) => textOf(r.threads)),
      { head: 'processors', value: (r) => textOf(r.processors) }, { head: 'NUMA nodes', value: (r) => textOf(r.numa_nodes) }, { head: 'bound to them', value: bindingOf }, { head: 'model', value: (r) => textOf(r.cpu_model) }))) : null,
    config.length ? folded('Settings', pairs('settings', config.map(([k, v]) => [k, textOf(v)]))) : null);
}

identify();
verdict();
messages();
if (worked) for (const draw of [planned, timeline, activity, balance, exchange, memory]) draw();
machine();
show();
