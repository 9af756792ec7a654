// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a report of hetsort. A report of a failed job or an older version may lack any member; the page omits
// what depends on missing members. Many ranks are shown by host or in groups; tables show all ranks.
'use strict';

const MANY = 64; // from here on, ranks are shown by host or in groups
const MOST_GROUPS = 32;
const PHASES = { read: 'k0', sort: 'k1', sample: 'k3', split: 'k3', exchange: 'k3', merge: 'k4', write: 'k5', sync: 'k6' };
const OTHER_PHASES = 'k2';
const phaseClass = (name) => PHASES[name] || OTHER_PHASES;

// ----------------------------------------------------------------------------------------------------------------- job

const part = (rank, name) => objectOf(rank[name]);
const phasesOf = (rank) => Object.entries(part(rank, 'phases_s')).filter(([, s]) => isNumber(s));
const busyOf = (rank) => sum(phasesOf(rank).map(([name, s]) => (name === 'exchange' ? 0 : s))); // exchange is waiting for blocks
const spansOf = (rank) => listOf(rank.timeline).filter((s) => isObject(s) && isNumber(s.begin_s) && isNumber(s.end_s));
const knownOf = (rank) => spansOf(rank).length > 0 || busyOf(rank) > 0;
const nameOf = (rank) => `rank ${textOf(rank.rank)}${textOf(rank.host) ? ` (${textOf(rank.host)})` : ''}`;
const busiest = (list) => list.reduce((top, r) => (busyOf(r) > busyOf(top) ? r : top));

function jobOf(report, name) {
  const scale = isObject(report.simulated) ? numberOf(report.simulated.scale) || 1 : null; // a simulated record stands for this number
  const ranks = listOf(report.ranks).filter(isObject), settings = objectOf(report.config);
  const hosts = new Map();
  for (const r of ranks) if (textOf(r.host)) hosts.set(r.host, [...(hosts.get(r.host) || []), r]);
  const top = ranks.length > 1 ? busiest(ranks) : null;
  const job = { report, name, scale, ranks, settings, hosts, failed: report.status !== 'ok', several: ranks.length > 1,
    critical: top && busyOf(top) > 0 ? top : null,
    worked: ranks.some((r) => spansOf(r).some((s) => !['describe', 'plan'].includes(s.phase))), // false: refused before it worked
    total_s: numberOf(report.total_s) || most(ranks.flatMap(spansOf).map((s) => s.end_s)),
    moved: numberOf(report.records) * numberOf(settings.record_bytes) };
  return Object.assign(job, rowsOf(job));
}

// A row for each rank. Many ranks have a row for each host, or for several; then a row stands for all of its ranks, or for
// the busiest of them, and can be opened.
function rowsOf(job) {
  const { name, ranks, hosts, critical } = job;
  const row = (label, list) => ({ label, job, ranks: list, critical: list.includes(critical), slowest: busiest(list), key: `${name}/${label}` });
  const one = (r) => row(`${textOf(r.rank)} ${textOf(r.host)}`, [r]);
  if (ranks.length < MANY) return { rows: ranks.map(one), grouped: false };
  const byHost = hosts.size > 1 && ranks.every((r) => hosts.has(r.host));
  const units = byHost ? [...hosts.values()] : ranks.map((r) => [r]), labelOf = (r) => textOf(byHost ? r.host : r.rank);
  const each = byHost && units.length <= MANY ? 1 : Math.ceil(units.length / MOST_GROUPS);
  const rows = Array.from({ length: Math.ceil(units.length / each) }, (_, i) => units.slice(i * each, (i + 1) * each)).map((group) => {
    const list = group.flat(), [first, last] = [group[0][0], group[group.length - 1][0]].map(labelOf);
    if (list.length === 1) return one(list[0]);
    return { ...row(`${first}${group.length > 1 ? `–${last}` : ''} (${list.length})`, list), parts: list.map(one) };
  });
  return { rows, grouped: rows.length < ranks.length, groupWord: byHost ? (each > 1 ? 'group of hosts' : 'host') : 'group of ranks' };
}

// What a row shows: "each rank" or "the busiest rank of each host".
const whose = ({ grouped, several, groupWord }) => (grouped ? `the busiest rank of each ${groupWord}` : several ? 'each rank' : 'the rank');
const openable = ({ grouped, groupWord }) => (grouped ? ` A click on the name of a ${groupWord} shows its ranks.` : '');
const total = (row, of) => (row.ranks.some((r) => isNumber(of(r))) ? sum(row.ranks.map(of)) : null);
const RANK = [{ head: 'rank', number: true, value: (r) => textOf(r.rank) }, { head: 'host', value: (r) => textOf(r.host) }];
const column = (head, value) => ({ head, number: true, value });

// Columns that have no value for any rank are omitted.
const rankTable = ({ ranks, critical }, ...columns) =>
  table([...RANK, ...columns.filter((c) => ranks.some((r) => !['', MISSING].includes(c.value(r))))], ranks, (r) => r === critical);

// A picture with two bars in each row: kinds are [class, words, value(row)].
function twoBars({ label, rows, kinds, say }) {
  const paint = (row, y, h, x) => kinds.map(([cls, words, of], i) => (isNumber(of(row))
    ? titled(rect(cls, x(0), y + (i * h) / 2, x(of(row)) - x(0), h / 2 - 0.5), `${row.label}: ${say(of(row))} ${words}`) : null));
  return html('div', {}, legend(kinds.map(([cls, words]) => [cls, words])),
    rowPicture({ label, rows, say, paint, end: most(rows.flatMap((row) => kinds.map(([, , of]) => of(row)))),
      ends: (row) => [most(kinds.map(([, , of]) => of(row))), kinds.map(([, , of]) => say(of(row))).join(', ')] }));
}

// ------------------------------------------------------------------------------------------------------------- verdict

const simulatedWords = ({ scale }) => (scale ? `Simulated (scale ${count(scale)}): ` : '');

function whatOf({ report, moved, scale }) {
  const n = report.records;
  return `${isNumber(n) && n > 0 ? plural(n, 'record') : 'the records'}${moved > 0 || n === 0 ? `, ${bytes(moved)},` : ''}`;
}
const whereOf = ({ ranks, hosts }) => (ranks.length === 0 ? '' : ` on ${plural(ranks.length, 'rank')}${hosts.size > 1 ? ` of ${hosts.size} hosts` : ''}`);

function sentence(job) {
  const { report, failed, total_s } = job, begin = job.scale ? (words) => simulatedWords(job) + words[0].toLowerCase() + words.slice(1) : (words) => words;
  if (!failed) return begin(`Sorted ${whatOf(job)} in ${seconds(total_s)}${whereOf(job)}`);
  if (typeof report.signal === 'string') return begin(`Not sorted: interrupted by ${report.signal}`);
  if (report.status === 'refused') return begin('Not sorted: the job was refused');
  return begin(`Not sorted: the job failed (${textOf(report.status) || 'unknown'})${total_s > 0 ? ` after ${seconds(total_s)}` : ''}${whereOf(job)}`);
}

const commandOf = ({ report }) => listOf(report.command).map(textOf).join(' ');

function identify(job) {
  const { report, hosts } = job, base = (path) => textOf(path).replace(/.*\/(?=.)/, '');
  const names = listOf(report.inputs), more = names.length > 1 ? ` and ${names.length - 1} more` : '';
  identity('hetsort report', job.scale ? 'simulated' : '', hosts.size === 1 ? [...hosts.keys()][0] : hosts.size > 1 ? `${hosts.size} hosts` : '',
    names.length ? `${base(names[0])}${more} → ${base(report.output) || 'no output'}` : '', commandOf(job));
}

function verdict(job) {
  const { report, failed, ranks, critical, total_s, moved, scale } = job, use = objectOf(report.use);
  document.title = `hetsort: ${sentence(job)}`;
  page.append(html('h1', { class: failed ? 'bad' : 'good' }, sentence(job)));
  errors(job);
  page.append(faint('Started ', moment(report.started), ', ended ', moment(report.date), '.',
    scale ? ` Times are simulated.${scale === 1 ? '' : ` Each record that was sorted stands for ${count(scale)}, which the page counts.`}` : ''));
  if (!job.worked) return;
  page.append(figures([
    ['time', total_s > 0 ? seconds(total_s) : null],
    ['rate', !failed && moved > 0 && total_s > 0 ? rate(moved / total_s) : null],
    ['balance (1 is perfect)', critical && numberOf(report.balance) > 0 ? digits(report.balance) : null],
    ['busiest rank', critical ? `${textOf(critical.rank)}: ${seconds(busyOf(critical))}` : null],
    [job.several ? 'most memory of a rank' : 'memory', bytes(most(ranks.map((r) => part(r, 'bytes').arrays_peak)) || null)],
    ['core-seconds per GB', numberOf(use.core_s_per_gb) > 0 ? digits(use.core_s_per_gb) : null],
    ['joules per GB', numberOf(use.joules_per_gb) > 0 ? digits(use.joules_per_gb) : null],
    ['bound by the', !failed && use.bound ? textOf(use.bound) : null],
    ['processors used', !failed && use.bound && isNumber(use.busy_part) ? `${Math.round(100 * use.busy_part)} %` : null],
    ['runs on disk', bytes(total({ ranks }, (r) => part(r, 'memory').spill_bytes))],
  ]));
}

const notice = (cls, who, words) => page.append(html('div', { class: `notice${cls}` }, html('strong', {}, who), words));

// Ranks, of which the same is to be said once.
const together = (list) => `${list.length > 1 ? `${list.length} ranks, the first is ` : ''}${nameOf(list[0])}`;

function errors({ name, ranks, failed, worked, report: { status } }) {
  const same = new Map(), of = name ? `${name}, ` : '';
  for (const r of ranks.filter((x) => isObject(x.error) || x.lost === true)) {
    const words = textOf(part(r, 'error').message) || (r.lost === true ? 'was lost, and sent no report' : 'gave no reason');
    same.set(words, [...(same.get(words) || []), r]);
  }
  for (const [words, list] of same) notice(' error', `${of}${together(list)}: `, words);
  if (failed && ranks.length === 0) notice(' error', of, 'The job ended before its ranks could report; see its messages on standard error.');
  const unknown = ranks.filter((r) => !knownOf(r));
  if (failed && !worked && ranks.length > 0 && status !== 'refused') page.append(faint('The report has no times of the work of the ranks, so there are no pictures.'));
  if (worked && unknown.length > 0) notice('', `${of}${together(unknown)}: `, `nothing is known of the work of ${unknown.length > 1 ? 'these ranks' : 'this rank'}${unknown.some((r) => r.phase) ? ', except for the last phase' : ''}.`);
}

function notes({ report, name }) {
  for (const note of new Set(listOf(report.notes).map(textOf))) if (note) notice('', `Note${name ? ` of ${name}` : ''}: `, note);
}

// ---------------------------------------------------------------------------------------------------- plan and reality

// A rank that waits for its link does not work, so its seconds cannot be compared.
const comparable = (r) => numberOf(r.predicted_s) > 0 && busyOf(r) > 0 && r.bound_by !== 'link';
const deviation = (r) => (comparable(r) ? 100 * (busyOf(r) / r.predicted_s - 1) : null);

const times = (v) => (isNumber(v) ? `${digits(v)} ×` : MISSING);
UNITS.set(times, [['×', 1]]);

// Measured rates predict seconds. Nominal rates only predict how ranks compare. Then planned and real times are shown
// relative to the mean of the ranks, unless there is only one rank.
function planned(job) {
  const { ranks, rows, failed, critical, grouped, groupWord } = job, measured = job.settings.rates_measured === true;
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
    grouped ? para(`Each row is the busiest rank of a ${groupWord}.${openable(job)}`) : null,
    legend([['is', 'took'], ['mark', 'plan']]),
    rowPicture({ label: `Time taken and planned, ${plural(rows.length, 'row')}`, rows, say, paint,
      end: most(rows.flatMap(({ slowest: r }) => [took(r), plan(r)])), ends: ({ slowest: r }) => [took(r), say(took(r))] }),
    asTable('Plan and reality of each rank', rankTable(job,
      column('speed', (r) => (isNumber(r.speed) ? digits(r.speed) : MISSING)),
      column('planned to read', (r) => count(part(r, 'records').planned_in)), column('read', (r) => count(part(r, 'records').in)),
      column('planned to write', (r) => count(part(r, 'records').planned_out)), column('written', (r) => count(part(r, 'records').out)),
      column('share planned', (r) => shareText(r, 'planned_out')), column('share written', (r) => shareText(r, 'out')),
      column('bound by', (r) => textOf(r.bound_by)), column('planned', (r) => say(plan(r))), column('took', (r) => say(took(r))), column('seconds', (r) => seconds(busyOf(r))),
      column('difference', (r) => (plan(r) > 0 && took(r) > 0 ? percent(100 * (took(r) / plan(r) - 1)) : MISSING)))));
}

// ------------------------------------------------------------------------------------------------------------ timeline

// Pieces of a rank's time, one after the other: the work of a phase, then how long the rank waited for others in it. Time
// in no span is waiting, too, except after the end of a failed job. One rank has nobody to wait for.
function piecesOf({ several, failed, total_s }, rank) {
  const pieces = [];
  let at = 0;
  const add = (to, phase, wait) => {
    if (to > at && (several || !wait)) pieces.push({ phase, wait, from: at, to });
    at = Math.max(at, to);
  };
  for (const s of spansOf(rank)) {
    add(s.begin_s, '', true);
    add(s.end_s - (several ? Math.min(numberOf(s.wait_s), s.end_s - s.begin_s) : 0), s.phase, false);
    add(s.end_s, s.phase, true);
  }
  if (!failed && spansOf(rank).length > 0) add(total_s, '', true);
  return pieces;
}
const endOf = (job, rank) => (job.failed ? most(spansOf(rank).map((s) => s.end_s)) : job.total_s);
const waitedOf = (job, rank) => (spansOf(rank).length > 0 ? sum(piecesOf(job, rank).filter((p) => p.wait).map((p) => p.to - p.from)) : null);

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

// The timelines of jobs, over the same axis of time; each has a heading if there are several jobs.
function timeline(jobs) {
  const ranks = jobs.flatMap((job) => job.ranks), several = jobs.some((job) => job.several);
  if (!ranks.some((r) => spansOf(r).length)) return;
  const names = [...new Set(ranks.flatMap((r) => spansOf(r).map((s) => wordsOf(r, textOf(s.phase)))))];
  const kind = (name) => phaseClass(name.replace(/,.*/, ''));
  const entries = [...new Set(names.map(kind))].sort().map((cls) => [cls, [...new Set(names.filter((n) => kind(n) === cls).flatMap((n) => n.split(', ')))].join(', ')]);
  const paint = ({ job, slowest, critical }, y, h, x) => [
    ...piecesOf(job, slowest).flatMap((p) => piece(slowest, p, y, h, x)),
    critical ? rect('critical', x(0), y - 1, x(endOf(job, slowest)) - x(0), h + 2, { 'pointer-events': 'none' }) : null];
  const rows = jobs.flatMap((job) => [...(job.name ? [{ heading: true, label: `${job.name}: ${seconds(job.total_s)}` }] : []), ...job.rows]);
  const end = most(jobs.map((job) => job.total_s)), marked = jobs.filter((job) => job.critical);
  section(jobs.length > 1 ? 'Timelines' : 'Timeline',
    para(`The phases of ${[...new Set(jobs.map(whose))].join(' and of ')} over time.${openable(jobs.find((job) => job.grouped) || {})} ${several ? 'The hatched end of a phase is how long the rank \
waited in it for other ranks: for their blocks, in collective calls and for the slowest.' : ''} ${marked.length ? `▶ and a frame mark \
${marked.map(({ name, critical }) => `rank ${textOf(critical.rank)}${name ? ` of ${name}` : ''}`).join(' and ')}, which worked longest.` : ''} ${jobs.some((job) => job.failed)
      ? 'What a rank did after the end of its row is not known.' : ''}`),
    legend([...entries, ...(several ? [['wait', 'waiting for other ranks']] : [])]),
    rowPicture({ label: `Phases over ${seconds(end)}, ${plural(rows.length, 'row')}`, rows, end, say: seconds, paint, time: true,
      ends: ({ job, slowest: r }) => (r.lost === true ? [endOf(job, r), 'lost'] : job.failed && textOf(r.phase) ? [endOf(job, r), `last in ${r.phase}`] : spansOf(r).length === 0 ? [0, 'not known']
        : job.several ? [endOf(job, r), `waits ${Math.round((100 * waitedOf(job, r)) / job.total_s)} %`] : null) }),
    ...jobs.map((job) => asTable(`When phases began and ended${job.name ? `: ${job.name}` : ''}`, table([...RANK.map((c) => ({ ...c, value: (e) => c.value(e.rank) })),
      { head: 'phase', value: (e) => textOf(e.span.phase) }, column('began', (e) => seconds(e.span.begin_s)),
      column('ended', (e) => seconds(e.span.end_s)), column('lasted', (e) => seconds(e.span.end_s - e.span.begin_s)), column('waited', (e) => seconds(e.span.wait_s))],
    job.ranks.flatMap((rank) => spansOf(rank).map((s) => ({ rank, span: s }))), (e) => e.rank === job.critical), job.name)));
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

function heatMap({ rows, total_s }, kind, title, step_s, columns) {
  const top = most(rows.flatMap((row) => heatOf(row, kind, step_s, columns)));
  if (!(top > 0)) return null;
  const paint = (row, y, h, x) => [rect('ground', x(0), y - 2, x(total_s) - x(0), h + 4),
    ...heatOf(row, kind, step_s, columns).map((v, i) => (v > 0 && i * step_s < total_s ? titled(
      rect('heat', x(i * step_s), y - 2, x(Math.min((i + 1) * step_s, total_s)) - x(i * step_s), h + 4, { 'fill-opacity': (0.06 + 0.94 * (v / top)).toFixed(3) }),
      `${row.label}: ${rate(v)}, ${seconds(i * step_s)} to ${seconds((i + 1) * step_s)}`) : null))];
  return html('div', {}, html('h3', {}, `${title}, at most ${rate(top)}`),
    rowPicture({ label: `${title}, at most ${rate(top)}`, rows, end: total_s, say: seconds, paint, time: true,
      ends: (row) => [total_s, row.ranks.some((r) => stepOf(r) > 0) ? bytes(step_s * sum(heatOf(row, kind, step_s, columns))) : 'not known'] }));
}

function activity(job) {
  const { ranks, total_s, grouped, groupWord } = job, step_s = most(ranks.map(stepOf));
  if (!(step_s > 0 && total_s > 0)) return;
  const columns = Math.max(1, most(ranks.map((r) => Math.ceil((flow(r, 'read').length * stepOf(r)) / step_s - 1e-6))));
  const maps = ACTIVITY.map(([kind, title]) => heatMap(job, kind, title, step_s, columns)).filter((m) => m !== null);
  if (maps.length === 0) return;
  const peak = (r, kind) => (stepOf(r) > 0 ? most(flow(r, kind)) / stepOf(r) : null);
  section('Activity', para(`Bytes per second in steps of ${seconds(step_s)}, runs on disk included; the stronger the colour, the more. At the end of a row is the sum. ${grouped ? `Each row is a ${groupWord}, all its ranks together.` : ''}`),
    ...maps, asTable('Bytes and highest rates of each rank', rankTable(job,
      ...ACTIVITY.flatMap(([kind]) => [column(kind, (r) => (stepOf(r) > 0 ? bytes(sum(flow(r, kind))) : MISSING)), column('at most', (r) => rate(peak(r, kind)))]))));
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

function adapted(job) {
  const { report, ranks, rows } = job, before = (r) => part(r, 'records').planned_out_before, after = (r) => part(r, 'records').planned_out;
  if (!isObject(report.adapt) || !ranks.some((r) => isNumber(before(r)))) return [];
  const gain = numberOf(report.adapt.predicted_gain);
  return [html('h3', {}, 'Shares before and after --adapt'),
    para(`Shares were ${textOf(report.adapt.shares) || 'not examined'}${gain > 0 ? `; the predicted gain was ${(100 * gain).toFixed(0)} % of the time that was left` : ''}.`),
    twoBars({ label: 'Records to write before and after adapting', rows, say: (v) => (isNumber(v) ? scaled(v, ['', 'k', 'M', 'G']).trim() : MISSING),
      kinds: [['is before', 'records to write, before', (row) => total(row, before)], ['is', 'after', (row) => total(row, after)]] }),
    asTable('Shares before and after', rankTable(job, column('before', (r) => count(before(r))), column('after', (r) => count(after(r))),
      column('speed seen', (r) => (isNumber(r.speed_seen) ? digits(r.speed_seen) : MISSING))))];
}

function balance(job) {
  const { ranks, rows } = job, end = most(ranks.map(busyOf)), known = ranks.filter(knownOf);
  if (!(end > 0 && job.critical)) return;
  const mean = sum(known.map(busyOf)) / known.length;
  const names = [...new Set(ranks.flatMap((r) => phasesOf(r).map(([name]) => name)))].filter((n) => n !== 'exchange');
  const seen = names.filter((n) => ranks.some((r) => part(r, 'phases_s')[n] > 0));
  const paint = (row, y, h, x) => [...phaseBars(row, y, h, x), line('mark', x(mean), y - 2, x(mean), y + h + 2)];
  section('Balance',
    para(`Seconds that ${whose(job)} spent in each phase, without waiting for blocks or for slower ranks at its end. The busiest rank took ${digits(end / mean)} times the mean of all ${known.length < ranks.length ? 'known ' : ''}ranks, ${seconds(mean)}.`),
    legend([['k0', 'read'], ['k1', 'sort'], ['k3', 'sample, split'], ['k4', 'merge'], ['k5', 'write'], ['k6', 'sync'], ['k2', 'other'], ['mark', 'mean']]
      .filter(([cls]) => cls === 'mark' || seen.some((n) => phaseClass(n) === cls))),
    rowPicture({ label: `Seconds worked, mean ${seconds(mean)}`, rows, end, say: seconds, paint,
      ends: ({ slowest: r }) => [busyOf(r), knownOf(r) ? seconds(busyOf(r)) : 'not known'] }),
    asTable('Seconds of each phase', rankTable(job, ...names.map((n) => column(n, (r) => seconds(part(r, 'phases_s')[n]))),
      column('lanes', (r) => textOf(r.lanes)), column('busy', (r) => (knownOf(r) ? seconds(busyOf(r)) : MISSING)), column('exchange', (r) => seconds(part(r, 'phases_s').exchange)), column('wait', (r) => seconds(r.wait_s)))),
    ...adapted(job));
}

// ------------------------------------------------------------------------------------------------------------ exchange

const WIDE_MATRIX = 16;

function matrix({ ranks }) {
  const top = most(ranks.flatMap((r) => listOf(r.sent_to)));
  if (!(top > 0)) return null;
  const cell = (v) => html('td', { class: 'number', style: `background: rgba(var(--heat), ${(0.55 * (numberOf(v) / top)).toFixed(3)})` }, numberOf(v) > 0 ? bytes(v) : '');
  const name = (r) => html('th', { scope: 'col', class: 'number' }, `to ${textOf(r.rank)}`);
  const all = scroll('Bytes from rank to rank', html('table', { class: 'matrix' }, html('thead', {}, html('tr', {}, html('th', { scope: 'col' }, 'from'), ...ranks.map(name))),
    html('tbody', {}, ...ranks.map((r) => html('tr', {}, html('th', { scope: 'row' }, `${textOf(r.rank)} ${textOf(r.host)}`), ...listOf(r.sent_to).map(cell))))));
  return ranks.length > WIDE_MATRIX ? folded('Bytes from each rank to each other', all) : all;
}

function exchange(job) {
  const of = (r, kind) => part(r, 'bytes')[kind], kinds = ['sent', 'received'];
  if (!job.ranks.some((r) => kinds.some((kind) => of(r, kind) > 0))) return;
  section('Exchange', para(`Bytes of records that ${job.grouped ? `the ranks of each ${job.groupWord}` : 'each rank'} sent and received.`), matrix(job),
    twoBars({ label: 'Bytes sent and received', rows: job.rows, say: bytes, kinds: kinds.map((kind, i) => [['heat', 'heat other'][i], kind, (row) => total(row, (r) => of(r, kind))]) }),
    asTable('Bytes sent and received', rankTable(job, ...kinds.map((kind) => column(kind, (r) => bytes(of(r, kind)))))));
}

// --------------------------------------------------------------------------------------------------------------- memory

const limitOf = (r) => part(r, 'memory').limit_bytes; // null: none

function memory(job) {
  const { ranks, rows, scale, grouped, groupWord } = job;
  const held = (r) => part(r, 'bytes').arrays_peak, plan = (r) => part(r, 'memory').planned_bytes;
  if (!ranks.some((r) => held(r) > 0)) return;
  const top = (row, of) => (row.ranks.some((r) => isNumber(of(r))) ? most(row.ranks.map(of)) : null);
  const used = most(ranks.flatMap((r) => [held(r), plan(r)]));
  const limits = ranks.map(limitOf).filter(isNumber);
  const near = limits.length > 0 && most(limits) < 4 * used; // a far larger limit would leave no room for the bars
  const end = near ? Math.max(used, most(limits)) : used;
  const paint = (row, y, h, x) => [top(row, held) > 0 ? titled(rect('is', x(0), y, x(top(row, held)) - x(0), h), `${row.label}: held ${bytes(top(row, held))}, planned ${bytes(top(row, plan))}`) : null,
    top(row, plan) > 0 ? line('mark', x(top(row, plan)), y - 1, x(top(row, plan)), y + h + 1) : null,
    near && top(row, limitOf) > 0 ? line('mark limit', x(top(row, limitOf)), y - 2, x(top(row, limitOf)), y + h + 2) : null];
  section('Memory', para(`Most memory that ${grouped ? `a rank of each ${groupWord}` : 'each rank'} held for records. ${limits.length === 0 ? (scale ? '' : 'There was no limit.')
    : near ? `The limit is ${bytes(most(limits))}.` : `The limit, ${bytes(most(limits))}, is far beyond the picture.`} Runs on disk: ${bytes(total({ ranks }, (r) => part(r, 'memory').spill_bytes))}.`),
    legend([['is', 'held'], ['mark', 'plan'], ...(near ? [['mark limit', 'limit']] : [])]),
    rowPicture({ label: 'Memory held and planned', rows, end, say: bytes, paint,
      ends: (row) => [top(row, held), bytes(top(row, held))] }),
    asTable('Memory of each rank', rankTable(job, column('held', (r) => bytes(held(r))), column('planned', (r) => bytes(plan(r))), column('limit', (r) => (isNumber(limitOf(r)) ? bytes(limitOf(r)) : 'none')),
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

function machine(job) {
  const { report, ranks, hosts, name, scale } = job, versions = objectOf(report.versions), config = Object.entries(job.settings);
  const unique = (of) => [...new Set(ranks.map(of))].filter((v) => v !== '');
  section(name ? `Machine of ${name}` : 'Machine',
    pairs('machine', [['command', html('span', { class: 'code' }, commandOf(job) || MISSING)], ['hosts', [...hosts].map(([h, list]) => `${h} (${plural(list.length, 'rank')})`).slice(0, 100).join(', ')],
      ['processors', unique((r) => textOf(r.cpu_model)).join(', ')], ['threads of a rank', unique((r) => textOf(r.threads)).join(', ')],
      ['NUMA nodes of a rank', unique((r) => textOf(r.numa_nodes)).join('; ')], ['bound to them', unique(bindingOf).join(', ')],
      ['ranks are', textOf(versions.ranks)], ['kernel', scale ? '' : textOf(versions.kernel)], ['hetsort', textOf(versions.hetsort)],
      ['compiler', textOf(versions.compiler)], ['build', textOf(versions.build)], ['commit', textOf(versions.commit)], ...(report.exit_code === 0 ? [['checksum', textOf(report.checksum)]] : []), ['exit code', textOf(report.exit_code)]]),
    ranks.length ? folded(scale ? 'Ranks' : 'Ranks and the processors that they may use', scroll('Ranks', rankTable(job, column('pid', (r) => textOf(r.pid)), column('threads', (r) => textOf(r.threads)),
      { head: 'processors', value: (r) => textOf(r.processors) }, { head: 'NUMA nodes', value: (r) => textOf(r.numa_nodes) }, { head: 'bound to them', value: bindingOf }, { head: 'model', value: (r) => textOf(r.cpu_model) }))) : null,
    config.length ? folded('Settings', pairs('settings', config.map(([k, v]) => [k, textOf(v)]))) : null);
}

// ---------------------------------------------------------------------------------------------------------------- page

if (Array.isArray(data)) {
  compare(jobsOf(data));
} else {
  const job = jobOf(data, '');
  identify(job);
  verdict(job);
  notes(job);
  if (job.worked) for (const draw of [planned, (one) => timeline([one]), activity, balance, exchange, memory]) draw(job);
  machine(job);
}
show();
