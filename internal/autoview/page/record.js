// A record: its fields by name, what is nested folded up and drawn when it is
// opened, so that the depth of an answer costs nothing.
import { h } from './dom.js';
import { isEmpty, isObject, isScalar, number, own } from './value.js';
import { columnOf, columnsOf } from './columns.js';
import { below, propertiesOf } from './schema.js';
import { cell } from './table.js';

const maxFields = 300;
const maxRows = 50;

// drawRecord gives the element of an object. schema is a hint, and root what it
// is part of.
export function drawRecord(value, schema, root, env, depth = 0) {
  const hints = new Map(propertiesOf(schema, root));
  const known = [...hints.keys()].filter((k) => Object.hasOwn(value, k));
  const keys = [...known, ...Object.keys(value).filter((k) => !hints.has(k))];
  const fields = keys.slice(0, maxFields).map((key) => field(key, value[key], hints.get(key) ?? {}, below(schema, root, key), root, env, depth));
  const more = keys.length > maxFields && h('p', { class: 'faint' }, `${env.format.count(keys.length - maxFields)} more fields are in Raw.`);
  return h('div', { class: 'record' }, h('dl', {}, fields), more);
}

function field(key, value, hint, schema, root, env, depth) {
  const column = columnOf(key, [value], hint);
  const name = h('dt', { title: column.note || undefined }, column.title);
  return h('div', { class: isScalar(value) ? 'field' : 'field wide' }, name, h('dd', { class: `${column.kind}${isEmpty(value) ? ' faint' : ''}`, 'data-field': key }, content(value, column, schema, root, env, depth)));
}

function content(value, column, schema, root, env, depth) {
  if (isScalar(value) || value === undefined) {
    if (typeof value === 'string' && value.length > 240) return h('div', { class: 'prose' }, value.length > 20000 ? `${value.slice(0, 20000)}…` : value);
    return cell(value, column.kind === 'number' && !Number.isFinite(number(value)) ? 'label' : column.kind, env);
  }
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (size === 0) return h('span', { class: 'faint' }, 'none');
  if (Array.isArray(value) && size <= 12 && value.every((v) => isScalar(v) && String(v).length <= 40)) {
    return h('span', { class: 'chips' }, value.map((v) => h('span', { class: 'chip' }, env.format.text(v))));
  }
  const inner = () => (Array.isArray(value) ? drawList(value, below(schema, root), root, env, depth + 1) : drawRecord(value, schema, root, env, depth + 1));
  return fold(env.format.text(value), inner, depth === 0 && size <= 8);
}

// fold is a part that is drawn when it is opened.
function fold(label, draw, open) {
  const part = h('details', { open }, h('summary', {}, label));
  const once = () => {
    if (part.open && part.childElementCount === 1) part.append(draw());
  };
  part.addEventListener('toggle', once);
  once();
  return part;
}

function drawList(list, schema, root, env, depth) {
  const shown = list.slice(0, maxRows);
  const more = list.length > maxRows && h('p', { class: 'faint' }, `${env.format.count(list.length - maxRows)} more are in Raw.`);
  if (!shown.every(isObject)) {
    const item = (v) => h('li', {}, isScalar(v) ? cell(v, 'label', env) : fold(env.format.text(v), () => (Array.isArray(v) ? drawList(v, {}, root, env, depth + 1) : drawRecord(v, {}, root, env, depth + 1)), false));
    return h('div', {}, h('ul', {}, shown.map(item)), more);
  }
  const columns = columnsOf(shown, schema, root);
  if (columns.length > 6 || columns.some((c) => ['object', 'list', 'text'].includes(c.kind))) {
    return h('div', {}, shown.map((v) => fold(env.format.labelOf(v), () => drawRecord(v, schema, root, env, depth + 1), shown.length === 1)), more);
  }
  const side = (c) => (c.kind === 'number' ? 'right' : '');
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Rows' },
    h('table', {},
      h('thead', {}, h('tr', {}, columns.map((c) => h('th', { scope: 'col', class: side(c) }, c.title)))),
      h('tbody', {}, shown.map((v) => h('tr', {}, columns.map((c) => h('td', { class: `${c.kind} ${side(c)}` }, cell(own(v, c.key), c.kind, env, c.digits))))))), more);
}
