// The map: points on coasts and a grid, with no network. Near points stand as one,
// with their number, so that ten thousand are as fast as ten.
import { h, show, svg } from './dom.js';
import { land } from './land.js';
import { nameOf } from './columns.js';
import { own } from './value.js';

const edge = 85; // degrees; Mercator ends before the pole

// project is Mercator: the world is 0 to 1 both ways.
export function project({ lat, lon }) {
  const clamped = Math.max(-edge, Math.min(edge, lat));
  const s = Math.sin((clamped * Math.PI) / 180);
  return { x: lon / 360 + 0.5, y: 0.5 - Math.log((1 + s) / (1 - s)) / (4 * Math.PI) };
}

function unproject({ x, y }) {
  return { lon: (x - 0.5) * 360, lat: (Math.atan(Math.sinh((0.5 - y) * 2 * Math.PI)) * 180) / Math.PI };
}

// fit is the part of the world that has all points in it, with some room.
export function fit(points, width, tall) {
  const all = points.map(project);
  const span = (f) => all.reduce(([a, b], p) => [Math.min(a, f(p)), Math.max(b, f(p))], [Infinity, -Infinity]);
  const [left, right] = span((p) => p.x);
  const [top, bottom] = span((p) => p.y);
  const least = 0.0004; // about a town
  const room = 1.3;
  const scale = Math.min(width / Math.max(least, (right - left) * room), tall / Math.max(least, (bottom - top) * room), 4e7);
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale };
}

// clusters puts points that would stand on each other together: {x, y, list}, in
// pixels.
export function clusters(points, view, width, tall, cell = 26) {
  const places = new Map();
  for (const p of points) {
    const at = project(p);
    const x = (at.x - view.x) * view.scale + width / 2;
    const y = (at.y - view.y) * view.scale + tall / 2;
    if (x < -20 || y < -20 || x > width + 20 || y > tall + 20) continue;
    const key = `${Math.floor(x / cell)},${Math.floor(y / cell)}`;
    const one = places.get(key);
    if (one) {
      one.x += (x - one.x) / (one.list.length + 1);
      one.y += (y - one.y) / (one.list.length + 1);
      one.list.push(p);
    } else places.set(key, { x, y, list: [p] });
  }
  return [...places.values()];
}

export function drawMap({ plan, value, env }) {
  const rows = plan.found ? plan.found.rows : [value];
  const naming = plan.columns.length > 0 ? nameOf(plan.columns) : undefined;
  const nameAt = (p) => (naming ? env.format.cell(own(rows[p.index], naming.key), naming.kind) : env.format.labelOf(rows[p.index]));
  const width = Math.max(280, env.width() - 26);
  const height = Math.round(Math.max(260, Math.min(520, width * 0.55)));
  let view = fit(plan.places, width, height);
  const picture = svg('svg', { class: 'world', viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': `Map of ${plan.places.length} places` });
  const said = h('p', { class: 'reader', role: 'status' }, '\u00a0');
  const tell = (list) => show(said, list.slice(0, 5).map((p, i) => [i > 0 && ' · ', plan.found ? h('button', { type: 'button', class: 'link', onclick: () => env.pick(p.index) }, nameAt(p)) : nameAt(p)]), list.length > 5 ? ` and ${env.format.count(list.length - 5)} more` : '', ` (${list[0].lat.toFixed(4)}, ${list[0].lon.toFixed(4)})`);

  const draw = () => {
    const px = (at) => `${((at.x - view.x) * view.scale + width / 2).toFixed(1)},${((at.y - view.y) * view.scale + height / 2).toFixed(1)}`;
    const coasts = view.scale < 60000 ? land.map((corners) => svg('path', { class: 'land', d: `M${corners.map(([lon, lat]) => px(project({ lon, lat }))).join('L')}Z` })) : [];
    const marks = clusters(plan.places, view, width, height).map((c) => mark(c, env, nameAt, () => (c.list.length > 1 && view.scale < 3e7 && apart(c.list) ? zoom(fit(c.list, width, height)) : tell(c.list)), () => tell(c.list)));
    show(picture, coasts, grid(view, width, height), marks);
  };
  const zoom = (to) => {
    view = { ...to, scale: Math.max(Math.min(width, height) / 2, Math.min(4e7, to.scale)) };
    draw();
  };
  const by = (factor) => () => zoom({ ...view, scale: view.scale * factor });
  drag(picture, width, (dx, dy) => zoom({ ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale }), (factor) => by(factor)());
  draw();
  const buttons = h('div', { class: 'zoom' },
    h('button', { type: 'button', class: 'quiet', 'aria-label': 'Closer', onclick: by(2) }, '+'),
    h('button', { type: 'button', class: 'quiet', 'aria-label': 'Farther', onclick: by(0.5) }, '−'),
    h('button', { type: 'button', class: 'quiet', onclick: () => zoom(fit(plan.places, width, height)) }, 'All'));
  const missing = plan.found && rows.length > plan.places.length && h('p', { class: 'faint' }, `${env.format.count(rows.length - plan.places.length)} of ${env.format.count(rows.length)} rows have no place.`);
  return h('div', { class: 'map' }, h('div', { class: 'earth' }, picture, buttons), said, missing);
}

const apart = (list) => list.some((p) => p.lat !== list[0].lat || p.lon !== list[0].lon);

function mark(c, env, nameAt, onclick, onhover) {
  const many = c.list.length > 1;
  const label = many ? `${env.format.count(c.list.length)} places` : nameAt(c.list[0]);
  const press = (e) => {
    if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      onclick();
    }
  };
  return svg('g', { class: many ? 'mark many' : 'mark', tabindex: '0', role: 'button', 'aria-label': label, onclick, onkeydown: press, onpointerenter: onhover, onfocus: onhover },
    svg('circle', { cx: c.x, cy: c.y, r: many ? Math.min(18, 9 + Math.log2(c.list.length)) : 6 }),
    many && svg('text', { x: c.x, y: c.y + 4, 'text-anchor': 'middle' }, c.list.length > 999 ? `${Math.round(c.list.length / 1000)}k` : String(c.list.length)));
}

// grid are lines of longitude and latitude, at round degrees.
function grid(view, width, height) {
  const low = unproject({ x: view.x - width / 2 / view.scale, y: view.y + height / 2 / view.scale });
  const high = unproject({ x: view.x + width / 2 / view.scale, y: view.y - height / 2 / view.scale });
  const step = [60, 30, 10, 5, 2, 1, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001].findLast((s) => (s / (high.lon - low.lon)) * width >= 75) ?? 60;
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const lines = [];
  for (let lon = Math.ceil(Math.max(-180, low.lon) / step) * step; lon <= Math.min(180, high.lon) && lines.length < 200; lon += step) {
    const x = (project({ lat: 0, lon }).x - view.x) * view.scale + width / 2;
    lines.push(svg('line', { class: 'grid', x1: x, x2: x, y1: 0, y2: height }), svg('text', { class: 'tick', x: x + 3, y: height - 5 }, `${Math.abs(lon).toFixed(digits)}°${lon < 0 ? 'W' : lon > 0 ? 'E' : ''}`));
  }
  for (let lat = Math.ceil(Math.max(-edge, low.lat) / step) * step; lat <= Math.min(edge, high.lat) && lines.length < 400; lat += step) {
    const y = (project({ lat, lon: 0 }).y - view.y) * view.scale + height / 2;
    lines.push(svg('line', { class: 'grid', x1: 0, x2: width, y1: y, y2: y }), svg('text', { class: 'tick', x: 4, y: y - 3 }, `${Math.abs(lat).toFixed(digits)}°${lat < 0 ? 'S' : lat > 0 ? 'N' : ''}`));
  }
  return lines;
}

function drag(picture, width, move, zoom) {
  let from;
  const scale = () => width / picture.getBoundingClientRect().width;
  picture.addEventListener('pointerdown', (e) => {
    from = { x: e.clientX, y: e.clientY };
  });
  picture.addEventListener('pointermove', (e) => {
    if (!from || e.buttons === 0) return;
    const dx = (e.clientX - from.x) * scale();
    const dy = (e.clientY - from.y) * scale();
    if (Math.abs(dx) + Math.abs(dy) < 4) return;
    from = { x: e.clientX, y: e.clientY };
    move(dx, dy);
  });
  for (const end of ['pointerup', 'pointerleave']) picture.addEventListener(end, () => {
    from = undefined;
  });
  picture.addEventListener('wheel', (e) => {
    if (!e.ctrlKey && !e.metaKey) return; // a page that is scrolled is not zoomed
    e.preventDefault();
    zoom(e.deltaY < 0 ? 1.25 : 0.8);
  }, { passive: false });
}
