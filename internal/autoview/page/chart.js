// The chart: lines over time, bars beside names.
import { h, show, svg } from './dom.js';
import { isEmpty, number, own } from './value.js';
import { measures, whenOf } from './columns.js';

const height = 300;
const maxBars = 40;
const maxSeries = 6;
const maxPoints = 600;

// ticks are round numbers that cover a span, about so many.
export function ticks(low, high, about = 5) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) { // as good as equal
    const by = Math.abs(low) / 2 || 1;
    return ticks(low - by, high + by, about);
  }
  const raw = (high - low) / about;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low, high];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  const out = [];
  for (let i = Math.floor(low / step); out.length <= about * 3; i++) {
    out.push(Number((i * step).toPrecision(12)));
    if (i * step >= high) break;
  }
  return out;
}

// thin keeps the lowest and the highest of each stretch of points, so that a
// line of ten thousand looks as it would with all of them.
export function thin(points, most = maxPoints) {
  if (points.length <= most) return points;
  const size = Math.ceil(points.length / (most / 2));
  const out = [];
  for (let i = 0; i < points.length; i += size) {
    const part = points.slice(i, i + size);
    const low = part.reduce((a, b) => (b.y < a.y ? b : a));
    const high = part.reduce((a, b) => (b.y > a.y ? b : a));
    out.push(...(low === high ? [low] : low.x <= high.x ? [low, high] : [high, low]));
  }
  return out;
}

// pointsOf are the points of a measure over a time axis, in its order.
export function pointsOf(rows, axis, key) {
  return rows
    .map((row) => ({ x: whenOf(row, axis), y: number(own(row, key)) }))
    .filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y))
    .sort((a, b) => a.x - b.x);
}

// barsOf are the bars of a measure beside names: the largest where there are too
// many.
export function barsOf(rows, axis, keys) {
  const all = rows.map((row) => ({ name: own(row, axis.key), values: keys.map((k) => number(own(row, k))) })).filter((b) => b.values.some(Number.isFinite));
  if (all.length <= maxBars) return { bars: all, of: all.length };
  const size = (b) => (Number.isFinite(b.values[0]) ? Math.abs(b.values[0]) : -1);
  return { bars: [...all].sort((a, b) => size(b) - size(a)).slice(0, maxBars), of: all.length };
}

export function drawChart({ plan, env }) {
  const drawn = measures(plan.columns).slice(0, 40);
  const chosen = new Set([drawn[0].key]);
  const place = h('div', { class: 'plot' });
  const draw = () => {
    const series = drawn.filter((c) => chosen.has(c.key));
    const width = Math.max(280, env.width() - 24);
    show(place, plan.axis.time ? lines(plan, series, width, env) : bars(plan, series, width, env));
  };
  const option = (c, i) => h('label', { class: 'series' }, h('input', { type: 'checkbox', checked: chosen.has(c.key), onchange: (e) => {
    if (e.target.checked) chosen.add(c.key);
    else chosen.delete(c.key);
    if (chosen.size > maxSeries) chosen.delete([...chosen][0]);
    if (chosen.size === 0) chosen.add(c.key);
    for (const box of options.querySelectorAll('input')) box.checked = chosen.has(box.value);
    draw();
  }, value: c.key }), h('i', { class: `swatch s${i % maxSeries}` }), c.title);
  const options = h('div', { class: 'options', role: 'group', 'aria-label': 'What is drawn' }, drawn.length > 1 ? drawn.map(option) : undefined);
  plan.colour = new Map(drawn.map((c, i) => [c.key, i % maxSeries]));
  draw();
  return h('div', { class: 'chart' }, options, place);
}

function frame(plan, series, width, scale, env, label) {
  const left = 8 + 7 * Math.max(...scale.map((t) => env.format.short(t).length));
  const area = { left, right: width - 12, top: 12, bottom: height - 34 };
  const low = scale[0];
  const high = scale.at(-1);
  const y = (v) => area.bottom - ((v - low) / (high - low || 1)) * (area.bottom - area.top);
  const grid = scale.map((t) => [
    svg('line', { class: 'grid', x1: area.left, x2: area.right, y1: y(t), y2: y(t) }),
    svg('text', { class: 'tick', x: area.left - 6, y: y(t) + 4, 'text-anchor': 'end' }, env.format.short(t)),
  ]);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label }, grid);
  return { area, y, picture };
}

function lines(plan, series, width, env) {
  const sets = series.map((c) => ({ c, points: thin(pointsOf(plan.found.rows, plan.axis, c.key)) })).filter((s) => s.points.length > 0);
  if (sets.length === 0) return h('p', { class: 'faint' }, 'There is nothing to draw.');
  const all = sets.flatMap((s) => s.points);
  const range = (f) => all.reduce(([a, b], p) => [Math.min(a, f(p)), Math.max(b, f(p))], [Infinity, -Infinity]);
  const [low, high] = range((p) => p.y);
  const [from, to] = range((p) => p.x);
  const near = low >= 0 && low < high / 2 ? 0 : low;
  const { area, y, picture } = frame(plan, series, width, ticks(near, high), env, `${series.map((s) => s.title).join(', ')} over ${plan.axis.title}`);
  const x = (t) => area.left + ((t - from) / (to - from || 1)) * (area.right - area.left);
  const steps = Math.max(2, Math.min(8, Math.floor((area.right - area.left) / 90)));
  for (let i = 0; i <= steps; i++) {
    const at = from + ((to - from) * i) / steps;
    picture.append(svg('text', { class: 'tick', x: x(at), y: height - 12, 'text-anchor': i === 0 ? 'start' : i === steps ? 'end' : 'middle' }, env.format.tick(at, to - from)));
  }
  for (const { c, points } of sets) {
    picture.append(svg('path', { class: `line s${plan.colour.get(c.key)}`, d: points.map((p, i) => `${i === 0 ? 'M' : 'L'}${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}`).join('') }));
    if (points.length <= 60) for (const p of points) picture.append(svg('circle', { class: `dot s${plan.colour.get(c.key)}`, cx: x(p.x), cy: y(p.y), r: 2.5 }));
  }
  return [picture, reader(picture, width, (at) => {
    const time = from + ((at - area.left) / (area.right - area.left)) * (to - from);
    const near1 = sets.map(({ c, points }) => [c, points.reduce((a, b) => (Math.abs(b.x - time) < Math.abs(a.x - time) ? b : a))]);
    return [env.format.time(new Date(near1[0][1].x).toISOString()), ...near1.map(([c, p]) => `${c.title}: ${env.format.count(p.y)}`)];
  })];
}

function bars(plan, series, width, env) {
  const { bars: list, of } = barsOf(plan.found.rows, plan.axis, series.map((s) => s.key));
  const values = list.flatMap((b) => b.values.filter(Number.isFinite));
  if (values.length === 0) return h('p', { class: 'faint' }, 'There is nothing to draw.');
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  const low = values.reduce((a, b) => Math.min(a, b), 0);
  const { area, y, picture } = frame(plan, series, width, ticks(low, high), env, `${series.map((s) => s.title).join(', ')} by ${plan.axis.title}`);
  const slot = (area.right - area.left) / list.length;
  const bar = Math.max(1, Math.min(64, (slot * 0.72) / series.length));
  const letters = Math.floor(slot / 7);
  const names = list.map((b) => (isEmpty(b.name) ? '–' : env.format.cell(b.name, plan.axis.kind)));
  list.forEach((b, i) => {
    const middle = area.left + slot * (i + 0.5);
    b.values.forEach((v, j) => {
      if (!Number.isFinite(v)) return;
      const top = Math.min(y(v), y(0));
      picture.append(svg('rect', { class: `bar s${plan.colour.get(series[j].key)}`, x: middle - (bar * series.length) / 2 + bar * j, y: top, width: bar, height: Math.max(1, Math.abs(y(v) - y(0))), rx: Math.min(2, bar / 4) }));
    });
    if (letters >= 3) picture.append(svg('text', { class: 'tick', x: middle, y: height - 12, 'text-anchor': 'middle' }, names[i].length > letters ? `${names[i].slice(0, letters - 1)}…` : names[i]));
  });
  return [picture, of > list.length && h('p', { class: 'faint' }, `The ${list.length} largest of ${env.format.count(of)}.`), reader(picture, width, (at) => {
    const i = Math.max(0, Math.min(list.length - 1, Math.floor((at - area.left) / slot)));
    return [names[i], ...series.map((s, j) => `${s.title}: ${Number.isFinite(list[i].values[j]) ? env.format.count(list[i].values[j]) : '–'}`)];
  })];
}

// reader says what is under the pointer.
function reader(picture, width, read) {
  const line = h('p', { class: 'reader', 'aria-live': 'off' }, '\u00a0');
  picture.addEventListener('pointermove', (e) => {
    const box = picture.getBoundingClientRect();
    line.textContent = read(((e.clientX - box.left) / box.width) * width).join(' · ');
  });
  picture.addEventListener('pointerleave', () => {
    line.textContent = '\u00a0';
  });
  return line;
}
