// SPDX-License-Identifier: GPL-3.0-or-later
// What the pages of reports and plans share: elements, numbers as text, tables, and pictures with a row for each rank
// or processor. Text from the data only ever becomes text of the page, so that no name in it is treated as markup.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const SVG_SPACE = document.getElementById('patterns').namespaceURI;

// ---------------------------------------------------------------------------------------------------------- elements

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG_SPACE, tag), attributes, children);
const para = (...children) => html('p', {}, ...children);
const faint = (...children) => html('p', { class: 'faint' }, ...children);

// -------------------------------------------------------------------------------------------------------------- values

const MISSING = '–';
const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const objectOf = (v) => (isObject(v) ? v : {});
const listOf = (v) => (Array.isArray(v) ? v : []);
const isNumber = (v) => typeof v === 'number' && Number.isFinite(v);
const numberOf = (v) => (isNumber(v) ? v : 0);
const textOf = (v) => (typeof v === 'string' ? v : isNumber(v) || typeof v === 'boolean' ? String(v) : '');
const sum = (list) => list.reduce((all, v) => all + numberOf(v), 0);
const most = (list) => list.reduce((top, v) => Math.max(top, numberOf(v)), 0);

// Three digits that count, never in powers of ten.
function digits(v) {
  const size = Math.abs(v);
  return v.toFixed(size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}
function scaled(v, units) {
  let at = 0;
  for (; Math.abs(v) >= 999.5 && at + 1 < units.length; at++) v /= 1000;
  return `${at === 0 ? String(Math.round(v)) : digits(v)} ${units[at]}`;
}
const count = (v) => (isNumber(v) ? Math.round(v).toLocaleString('en') : MISSING);
const bytes = (v) => (isNumber(v) ? scaled(v, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']) : MISSING);
const rate = (v) => (isNumber(v) ? `${bytes(v)}/s` : MISSING);
function seconds(v) {
  if (!isNumber(v)) return MISSING;
  if (v === 0 || Math.abs(v) >= 1) return `${digits(v)} s`;
  return Math.abs(v) >= 0.001 ? `${digits(1000 * v)} ms` : `${digits(1e6 * v)} µs`;
}
// A moment as the reader's clock and language have it.
function moment(v) {
  const at = new Date(textOf(v));
  if (Number.isNaN(at.getTime())) return MISSING;
  return html('time', { datetime: v }, at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' }));
}
const percent = (v) => (isNumber(v) ? `${v > 0 ? '+' : ''}${v.toFixed(0)} %` : MISSING);
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// -------------------------------------------------------------------------------------------------------------- tables

// columns: { head, value(row), number }; a cell that is not text yet is shown as it is.
function table(columns, rows, isCritical = () => false) {
  const kind = (c) => (c.number ? 'number' : c.wide ? 'wide' : null);
  const head = columns.map((c) => html('th', { scope: 'col', class: kind(c) }, c.head));
  const line = (row) => html('tr', { class: isCritical(row) ? 'critical' : null },
    ...columns.map((c) => html('td', { class: kind(c) }, c.value(row))));
  return html('table', {}, html('thead', {}, html('tr', {}, ...head)), html('tbody', {}, ...rows.map(line)));
}

// What is wider than the page is scrolled, by keys as well.
const scroll = (label, ...children) => html('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, ...children);
const folded = (label, ...children) => html('details', {}, html('summary', {}, label), ...children);
const asTable = (label, content, name = '') => folded(`As a table${name && `: ${name}`}`, scroll(label, content));

// ------------------------------------------------------------------------------------------------------------ pictures

const pictures = [];
const brush = document.createElement('canvas').getContext('2d');
const FONT = getComputedStyle(document.body).fontFamily;

// How wide words are in a picture, as page.css has them: cls is small, strong, or both.
function widthOf(words, cls = '') {
  brush.font = `${cls.includes('strong') ? 'bold ' : ''}${cls.includes('small') ? 10.5 : 12}px ${FONT}`;
  return brush.measureText(words).width;
}

// draw(width) gives an svg element; it is called again when the page gets another width.
function picture(draw) {
  const box = html('div', { class: 'picture' });
  pictures.push({ box, draw, width: 0 });
  return box;
}
function drawPictures(all = false) {
  for (const p of pictures) {
    const width = Math.max(280, Math.floor(p.box.clientWidth));
    if (width === p.width && !all) continue;
    p.width = width;
    p.box.replaceChildren(p.draw(width));
  }
}

// Tiles of { name, value }. Rows differ by one tile at most, and none has only one.
function figures(entries) {
  const shown = entries.filter(([, value]) => value !== null && value !== MISSING), n = shown.length;
  return picture((width) => {
    const rows = Math.max(1, Math.min(Math.ceil(n / Math.floor(width / 155)), Math.floor(n / 2)));
    const fewest = Math.floor(n / rows), longer = n % rows; // this number of rows has one more
    const tile = ([name, value], i) => html('div', { style: `grid-column: span ${i < longer * (fewest + 1) ? fewest : fewest + 1}` },
      html('dt', {}, name), html('dd', {}, value));
    return html('dl', { class: 'figures', style: `grid-template-columns: repeat(${fewest * (fewest + 1)}, 1fr)` }, ...shown.map(tile));
  });
}

// A class that begins with "mark" is a line in the picture, all others are areas.
function legend(entries) {
  const sample = (cls) => svg('svg', { viewBox: '0 0 14 14', 'aria-hidden': 'true' },
    cls.startsWith('mark') ? line(cls, 7, 0, 7, 14) : svg('rect', { class: cls, width: 14, height: 14 }));
  return html('ul', { class: 'legend' }, ...entries.map(([cls, text]) => html('li', {}, sample(cls), text)));
}

const titled = (node, text) => { node.append(svg('title', {}, text)); return node; };
const rect = (cls, x, y, width, height, attributes = {}) =>
  svg('rect', { class: cls, x: x.toFixed(2), y: y.toFixed(2), width: Math.max(0.4, width).toFixed(2), height: height.toFixed(2), ...attributes });
const text = (cls, x, y, words, attributes = {}) => svg('text', { class: cls, x: x.toFixed(1), y: y.toFixed(1), ...attributes }, words);
const line = (cls, x1, y1, x2, y2) => svg('line', { class: cls, x1: x1.toFixed(2), y1: y1.toFixed(2), x2: x2.toFixed(2), y2: y2.toFixed(2) });

// As much of the words as there is room for.
function cut(words, room, cls) {
  if (widthOf(words, cls) <= room) return words;
  let fits = 1;
  for (let over = words.length; over - fits > 1;) {
    const half = (fits + over) >> 1;
    if (widthOf(`${words.slice(0, half)}…`, cls) <= room) fits = half; else over = half;
  }
  return `${words.slice(0, fits)}…`;
}

// A step of 1, 2 or 5 times a power of ten, so that there are at most n of them.
function tick(end, n) {
  const ten = 10 ** Math.floor(Math.log10(end / n));
  return [1, 2, 5, 10].map((k) => k * ten).find((step) => end / step <= n + 1e-9);
}

// The ticks of an axis share a unit, and enough digits to be distinct.
const UNITS = new Map([[seconds, [['s', 1], ['ms', 1e-3], ['µs', 1e-6]]],
  [bytes, [['PB', 1e15], ['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3], ['B', 1]]]]);
function tickText(v, step, end, say) {
  const unit = (UNITS.get(say) || []).find(([, size]) => end >= size);
  return unit ? `${(v / unit[1]).toFixed(Math.max(0, -Math.floor(Math.log10(step / unit[1]) + 1e-9)))} ${unit[0]}` : say(v);
}

// rowPicture - a picture with a row for each of `rows`, which paint(row, y, height, x) draws; x(v) is where v of 0..end is,
// and say(v) is v as text. A row is { label, critical }, and may have `parts`, rows that it is opened into. A row with
// `heading` has only its words.
//   ends(row)  [v, words]: the words that follow the bar, which ends at v
//   time       the axis is the time of the page, with a cursor that all such pictures share
function rowPicture({ label, rows, end, say, paint, ends = () => null, time = false }) {
  return picture((width) => {
    const shown = rows.flatMap((row) => (opened.has(row.key) ? [row, ...row.parts] : [row]));
    return drawRows(width, { label, rows: shown, end, say, paint: (row, ...at) => (row.heading ? [] : paint(row, ...at)),
      ends: (row) => (row.heading ? null : ends(row)), time });
  });
}

const opened = new Set(); // the keys of such rows

// Make the words of a row open and close it, by pointer and by keys, in all pictures.
function opens(words, row) {
  const toggle = (e) => {
    if (!['click', 'Enter', ' '].includes(e.key || e.type)) return;
    e.preventDefault();
    if (!opened.delete(row.key)) opened.add(row.key);
    const from = e.currentTarget.closest('.picture');
    drawPictures(true);
    [...from.querySelectorAll('[role=button]')].find((b) => b.dataset.key === row.key).focus();
  };
  for (const event of ['click', 'keydown']) words.addEventListener(event, toggle);
  return fill(words, { role: 'button', tabindex: '0', 'aria-expanded': opened.has(row.key), 'data-key': row.key }, []);
}

const TIME_ENDS = widthOf('waits 100 %', 'small'); // the same room in all pictures that share their axis

// The first place from `at` on where words of this width lie on none of the drawn parts.
function clear(at, width, parts) {
  const of = (part, name) => Number(part.getAttribute(name));
  const spans = parts.filter((part) => part.tagName !== 'text')
    .map((part) => (part.tagName === 'line' ? [of(part, 'x1') - 1, of(part, 'x1') + 1] : [of(part, 'x'), of(part, 'x') + of(part, 'width')]));
  return spans.sort((a, b) => a[0] - b[0]).reduce((place, [from, to]) => (from < place + width + 2 && to > place - 2 ? to + 4 : place), at);
}

function drawRows(width, { label, rows, end, say, paint, ends, time }) {
  const small = rows.length > 24;
  const height = small ? 15 : 24;
  const wordsOf = (row) => `${row.critical ? '▶ ' : ''}${row.parts ? (opened.has(row.key) ? '− ' : '+ ') : ''}${row.label}`;
  const clsOf = (row) => `${small ? 'small' : ''}${row.critical || row.heading ? ' strong' : ''}${row.parts ? ' opens' : ''}`;
  const left = Math.min(most([30, ...rows.filter((r) => !r.heading).map((r) => widthOf(wordsOf(r), clsOf(r)))]) + 10, width * 0.32);
  const right = 14 + (time ? TIME_ENDS : most(rows.map((row) => (ends(row) ? widthOf(ends(row)[1], 'small') : 0))));
  const bottom = rows.length * height;
  const x = (v) => left + (width - left - right) * (end > 0 ? v / end : 0);
  const out = svg('svg', { viewBox: `0 0 ${width} ${bottom + 26}`, role: 'img', 'aria-label': label, class: time ? 'timed' : null });
  if (end > 0) {
    const step = tick(end, Math.max(1, Math.floor((width - left - right) / Math.max(64, widthOf(say(end), 'small') + 24))));
    for (let i = 0; i * step <= end * 1.0001; i++) {
      const anchor = x(i * step) > width - 30 ? 'end' : 'middle';
      out.append(line('axis', x(i * step), 0, x(i * step), bottom + 4),
        text('small faint', anchor === 'end' ? width : x(i * step), bottom + 18, tickText(i * step, step, end, say), { 'text-anchor': anchor }));
    }
  }
  rows.forEach((row, i) => {
    const base = (i + 0.5) * height + 4, room = row.heading ? width : left - 9;
    const words = text(clsOf(row), row.heading ? 0 : left - 8, base, cut(wordsOf(row), room, clsOf(row)), { 'text-anchor': row.heading ? 'start' : 'end' });
    out.append(titled(row.parts ? opens(words, row) : words, wordsOf(row)));
    const parts = paint(row, i * height + 2, height - 4, x).filter((part) => part), value = ends(row);
    out.append(...parts);
    if (value) out.append(text('small value', clear(x(value[0]) + 5, widthOf(value[1], 'small'), parts), base, value[1]));
  });
  if (time) follow(out, end, (px) => ((px - left) / (width - left - right)) * end, (v) => cursor(x(v), width, bottom, say(v)));
  return out;
}

// ------------------------------------------------------------------------------------------------------------- cursor

// A line at one moment in all pictures of the page's time, where the pointer is in one of them.
const timed = new WeakMap();

function cursor(x, width, bottom, words) {
  const room = widthOf(words, 'small') + 8, at = Math.min(Math.max(x - room / 2, 0), width - room);
  return svg('g', { class: 'cursor', 'pointer-events': 'none' }, line('now', x, 0, x, bottom + 6),
    rect('flag', at, bottom + 6, room, 17), text('small', at + 4, bottom + 18, words));
}

function point(v) {
  for (const old of document.querySelectorAll('.cursor')) old.remove();
  if (v !== null) for (const out of document.querySelectorAll('.timed')) out.append(timed.get(out)(v));
}

function follow(out, end, valueAt, cursorAt) {
  timed.set(out, cursorAt);
  out.addEventListener('pointermove', (e) => {
    const box = out.getBoundingClientRect(), v = valueAt(((e.clientX - box.left) / box.width) * out.viewBox.baseVal.width);
    point(v >= 0 && v <= end ? v : null);
  });
  out.addEventListener('pointerleave', () => point(null));
}

// ---------------------------------------------------------------------------------------------------------------- page

// One line on top: which page this is, and of what. Parts that are empty are omitted; what is too long for the line is cut.
function identity(name, ...parts) {
  const words = parts.filter((part) => part).map((part) => ` · ${part}`).join('');
  page.append(html('p', { class: 'identity', title: words.slice(3) }, html('strong', {}, name), words));
}

function section(title, ...children) {
  page.append(html('section', {}, html('h2', {}, title), ...children));
}

function show() {
  drawPictures();
  drawPictures(); // now that there may be a bar to scroll with
  addEventListener('resize', () => drawPictures());
  // On paper nothing can be opened.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details:not([open])')];
    for (const d of closed) d.open = true;
  });
  addEventListener('afterprint', () => { for (const d of closed) d.open = false; });
}
