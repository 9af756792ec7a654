// SPDX-License-Identifier: GPL-3.0-or-later
// The page of two reports, next to each other. The second is compared with the first, unless they are of different jobs.
'use strict';

// Return the jobs of [{ name, report }]; their names are the files without directories and .json, if these differ.
function jobsOf(list) {
  const paths = list.map((one) => textOf(one.name)), files = paths.map((path) => path.replace(/.*\//, '').replace(/\.json$/, ''));
  const names = [files, paths, ['first', 'second']].find(([a, b]) => a !== b && a && b);
  return list.map((one, i) => jobOf(objectOf(one.report), names[i]));
}

// Return why the times of the jobs cannot be compared, or ''.
function unlike([a, b]) {
  const sums = [a, b].map(({ report }) => report.checksum);
  if (a.failed || b.failed) return `${[a, b].filter((job) => job.failed).map((job) => job.name).join(' and ')} did not sort`;
  if (a.report.records !== b.report.records || a.moved !== b.moved) return `Not the same job: ${a.name} sorted ${whatOf(a)} ${b.name} ${whatOf(b).replace(/,$/, '')}`;
  if (a.scale === b.scale && sums.every((v) => typeof v === 'string') && sums[0] !== sums[1]) return 'Not the same records: their checksums differ';
  return a.total_s > 0 && b.total_s > 0 ? '' : 'The reports have no times';
}

const ofAll = (v) => (isNumber(v) ? `${Number(v.toFixed(1))} %` : MISSING);

// Return the percentage of the job's records that the ranks of a row wrote, or null.
function shareOf({ job, ranks }) {
  const out = (r) => part(r, 'records').out, all = total(job, out), own = total({ ranks }, out);
  return all > 0 && own !== null ? (100 * own) / all : null;
}
const waitOf = ({ job, ranks }) => total({ ranks }, (r) => waitedOf(job, r));

// Return the sentences about ranks.
function changes([a, b], pairs) {
  const waited = [a, b].map((job) => (job.several && job.total_s > 0 ? (100 * sum(job.ranks.map((r) => waitedOf(job, r)))) / (job.ranks.length * job.total_s) : null));
  const shares = pairs.map((pair) => pair.map(shareOf)), factor = ([x, y]) => Math.abs(Math.log(Math.max(y, 0.01) / Math.max(x, 0.01)));
  const known = pairs.filter((_, i) => shares[i].every(isNumber)), at = (pair) => shares[pairs.indexOf(pair)];
  const top = known.length ? known.reduce((best, pair) => (factor(at(pair)) > factor(at(best)) ? pair : best)) : null;
  return [waited.every(isNumber) ? `Ranks waited ${ofAll(waited[1])} of the time, instead of ${ofAll(waited[0])}.` : '',
    top && ofAll(at(top)[0]) !== ofAll(at(top)[1]) ? `${top[0].ranks.length > 1 ? `The ranks of ${top[0].label}` : `Rank ${textOf(top[0].slowest.rank)}`} wrote ${ofAll(at(top)[1])} of the records, instead of ${ofAll(at(top)[0])}.` : ''].join(' ');
}

// Return what differs between the jobs: [name, of the first, of the second].
function differences([a, b]) {
  const names = new Set([a, b].flatMap((job) => Object.keys(job.settings)));
  const wordsIn = ({ report }) => listOf(report.command).map(textOf).filter((word, i, all) => !/^--(report|html)(=|$)/.test(word) && !/^--(report|html)$/.test(all[i - 1]));
  const only = (one, other) => wordsIn(one).filter((word) => !wordsIn(other).includes(word)).join(' ');
  const both = (name, of) => [name, of(a, b), of(b, a)];
  return [both('in the command', only), ...[...names].map((name) => both(name.replace(/_/g, ' '), (job) => textOf(job.settings[name]))),
    both('ranks', (job) => count(job.ranks.length)), both('hosts', ({ hosts }) => (hosts.size > 8 ? count(hosts.size) : [...hosts.keys()].join(', '))),
    both('simulated', ({ scale }) => (scale ? `scale ${count(scale)}` : 'no')), both('hetsort', ({ report }) => `${textOf(objectOf(report.versions).hetsort)} ${textOf(objectOf(report.versions).commit)}`),
  ].filter(([, x, y]) => x !== y);
}

function introduce(jobs, pairs) {
  const [a, b] = jobs, why = unlike(jobs), ratio = b.total_s / a.total_s;
  const title = why || `${b.name} took ${seconds(b.total_s)}, ${ratio.toFixed(2)} ${ratio > 1 ? 'times' : 'of'} ${a.name}’s ${seconds(a.total_s)}`;
  const together = !why && a.scale === b.scale && whereOf(a) === whereOf(b);
  document.title = `hetsort: ${title}`;
  page.append(html('h1', { class: why ? 'bad' : null }, title));
  if (together) page.append(para(`${simulatedWords(a)}${a.scale ? 'both' : 'Both'} sorted ${whatOf(a)}${whereOf(a)}. ${changes(jobs, pairs)}`));
  else for (const job of jobs) page.append(para(html('strong', {}, `${job.name}: `), `${sentence(job)}.`));
  if (!together && !why) page.append(para(changes(jobs, pairs)));
  for (const job of jobs) errors(job);
  const rows = differences(jobs);
  page.append(rows.length === 0 ? para('Their options do not differ.') : scroll('What differs', table([{ head: 'what differs', value: ([name]) => name },
    ...jobs.map((job, i) => ({ head: job.name, wide: true, value: (row) => row[i + 1] || MISSING }))], rows)));
}

function compare(jobs) {
  const [a, b] = jobs;
  const alike = !a.failed && !b.failed && a.rows.length === b.rows.length && a.rows.every((row, i) => row.ranks.length === b.rows[i].ranks.length);
  const pairs = alike ? a.rows.map((row, i) => [row, b.rows[i]]) : [];
  const joined = ([x, y]) => ({ label: x.label === y.label ? x.label : `${x.label}, ${y.label}`, key: x.key, pair: [x, y],
    ...(x.parts && y.parts ? { parts: x.parts.map((one, i) => joined([one, y.parts[i]])) } : {}) });
  const rows = pairs.map(joined);
  const both = (title, words, say, of) => {
    if (!pairs.some((pair) => pair.some((row) => of(row) > 0))) return;
    section(title, para(words, a.grouped ? ` Each row is a ${a.groupWord}, all its ranks together.` : '', openable(a)),
      twoBars({ label: title, rows, say, kinds: jobs.map(({ name }, i) => [['is before', 'is'][i], name, (row) => of(row.pair[i])]) }));
  };
  identity('hetsort report', `${a.name} and ${b.name}`);
  introduce(jobs, pairs);
  for (const job of jobs) notes(job);
  timeline(jobs);
  both('Shares', 'Records that each rank wrote, of all records of its job.', ofAll, shareOf);
  both('Waits', 'How long each rank waited for other ranks.', seconds, waitOf);
  if (!alike && !a.failed && !b.failed) page.append(para(`${a.name} has ${plural(a.ranks.length, 'rank')}, ${b.name} ${a.ranks.length === b.ranks.length ? 'has the same number, on other hosts' : `has ${count(b.ranks.length)}`}, so the shares and waits of their ranks are not compared.`));
  for (const job of jobs) machine(job);
}
