// The table: sorted, searched and paged here, since an answer may have ten thousand
// rows and a person looks at twenty-five.
import { h, show } from './dom.js';
import { isEmpty, isLink, moment, number, own } from './value.js';
import { mostTelling } from './columns.js';
import { nextCalls } from './next.js';

const pageSize = 25;
const right = new Set(['number', 'place']);

// drawTable gives the element; env has format, open, width, pick.
export function drawTable({ plan, env, calls }) {
  const { rows } = plan.found;
  const state = { sort: undefined, down: false, words: '', page: 0, all: false };
  const order = rows.map((_, i) => i);
  const room = Math.max(2, Math.min(8, Math.floor(env.width() / 125)));
  const foot = h('div', { class: 'foot' });
  const frame = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Rows' });
  const found = () => {
    const list = state.words === '' ? order.slice() : order.filter((i) => hit(rows[i], state.words));
    return state.sort ? sorted(list, rows, state.sort, state.down) : list;
  };
  let shown = found();

  const draw = () => {
    const columns = state.all ? plan.columns : mostTelling(plan.columns, room);
    const from = state.page * pageSize;
    const part = shown.slice(from, from + pageSize);
    const head = columns.map((c) => headCell(c, state, () => {
      state.down = state.sort === c ? !state.down : c.kind === 'number';
      state.sort = c;
      again();
    }));
    const body = part.map((i) => rowOf(rows[i], columns, env, calls, () => env.pick(i)));
    const empty = h('tr', {}, h('td', { colspan: columns.length + 1, class: 'faint' }, rows.length === 0 ? 'No rows.' : 'No row has that.'));
    show(frame, h('table', {}, h('thead', {}, h('tr', {}, head, h('th', { class: 'act' }, h('span', { class: 'unseen' }, 'Open')))), h('tbody', {}, body.length > 0 ? body : empty)));
    show(foot, pager(state, shown.length, rows.length, env.format, draw), hiddenColumns(state, plan.columns.length - columns.length, draw));
  };
  const again = () => {
    shown = found();
    state.page = 0;
    draw();
  };
  const search = rows.length > 8 && h('input', {
    type: 'search',
    placeholder: 'Filter rows',
    'aria-label': 'Filter rows',
    oninput: (e) => {
      state.words = e.target.value.trim().toLowerCase();
      again();
    },
  });
  draw();
  return h('div', { class: 'table' }, search, frame, foot);
}

function headCell(column, state, onclick) {
  const active = state.sort?.key === column.key;
  return h('th', { scope: 'col', class: right.has(column.kind) ? 'right' : '', 'aria-sort': active ? (state.down ? 'descending' : 'ascending') : undefined },
    h('button', { type: 'button', class: 'head', title: column.note || undefined, onclick }, column.title, active ? (state.down ? ' ↓' : ' ↑') : ''));
}

function rowOf(row, columns, env, calls, onpick) {
  const cells = columns.map((c) => {
    const v = own(row, c.key);
    const kind = right.has(c.kind) && !Number.isFinite(number(v)) ? 'label' : c.kind;
    return h('td', { class: `${kind} ${right.has(c.kind) ? 'right' : ''} ${isEmpty(v) ? 'faint' : ''}`, 'data-column': c.key }, cell(v, kind, env, c.digits));
  });
  const [first] = calls ? nextCalls(calls.tool, calls.tools, row, calls.args) : [];
  const open = h('button', { type: 'button', class: 'quiet', title: first ? calls.titleOf(first.tool) : 'Show this row', onclick: onpick }, 'Open');
  return h('tr', {}, cells, h('td', { class: 'act' }, open));
}

// cell is a value inside a table or a record.
export function cell(v, kind, env, digits) {
  if (kind === 'link' || isLink(v)) return linkTo(v, env);
  const text = env.format.cell(v, kind, digits);
  if (kind === 'flag' && typeof v === 'boolean') return h('span', { class: v ? 'flag yes' : 'flag' }, text);
  if (kind === 'choice') return h('span', { class: 'chip' }, text);
  if (kind === 'id') return h('span', { class: 'mono' }, text);
  return text.length > 240 ? `${text.slice(0, 240)}…` : text;
}

function linkTo(v, env) {
  const text = String(v);
  if (!isLink(v)) return text.slice(0, 240);
  const label = text.replace(/^https?:\/\/(www\.)?/i, '').replace(/\/$/, '');
  return h('button', { type: 'button', class: 'link', title: text, onclick: () => env.open(text) }, label.length > 36 ? `${label.slice(0, 35)}…` : label);
}

function hit(row, wanted) {
  for (const v of Object.values(row)) {
    if (typeof v === 'string' ? v.toLowerCase().includes(wanted) : typeof v === 'number' && String(v).includes(wanted)) return true;
    if (typeof v === 'object' && v !== null) {
      for (const x of Object.values(v).slice(0, 50)) if (typeof x === 'string' && x.toLowerCase().includes(wanted)) return true;
    }
  }
  return false;
}

// sorted orders row numbers by a column; what is empty comes last, either way.
export function sorted(list, rows, column, down) {
  const key = (i) => {
    const v = own(rows[i], column.key);
    if (isEmpty(v)) return undefined;
    if (column.kind === 'date' || column.kind === 'time') return moment(v);
    const n = number(v);
    if (Number.isFinite(n)) return n;
    if (typeof v === 'boolean') return Number(v);
    return typeof v === 'string' ? v : undefined;
  };
  const compare = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' }).compare;
  const keyed = list.map((i) => [i, key(i)]);
  keyed.sort(([i, a], [j, b]) => {
    if (a === undefined || b === undefined) return a === b ? i - j : a === undefined ? 1 : -1;
    let by = typeof a === typeof b ? (typeof a === 'string' ? compare(a, b) : a - b) : typeof a === 'number' ? -1 : 1;
    if (Number.isNaN(by)) by = 0;
    return by === 0 ? i - j : down ? -by : by;
  });
  return keyed.map(([i]) => i);
}

function pager(state, n, of, format, draw) {
  const from = state.page * pageSize;
  const go = (by) => () => {
    state.page += by;
    draw();
  };
  const text = n === 0 ? `0 of ${format.count(of)}` : n <= pageSize && n === of ? (n === 1 ? '1 row' : `${format.count(n)} rows`) : `${format.count(from + 1)}–${format.count(Math.min(n, from + pageSize))} of ${format.count(n)}`;
  return [
    h('span', { class: 'count', role: 'status' }, text),
    n > pageSize && h('button', { type: 'button', class: 'quiet', disabled: state.page === 0, onclick: go(-1) }, 'Previous'),
    n > pageSize && h('button', { type: 'button', class: 'quiet', disabled: from + pageSize >= n, onclick: go(1) }, 'Next'),
  ];
}

function hiddenColumns(state, hidden, draw) {
  if (hidden <= 0 && !state.all) return undefined;
  return h('button', { type: 'button', class: 'quiet', onclick: () => {
    state.all = !state.all;
    draw();
  } }, state.all ? 'Fewer columns' : `${hidden} more ${hidden === 1 ? 'column' : 'columns'}`);
}
