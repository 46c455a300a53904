// The columns of rows: in which order, under which name, and of which kind.
import { epoch, isDay, isDecimal, isEmpty, isInstant, isLink, isObject, isScalar, moment, number, own, plainName, humanName, words } from './value.js';
import { propertiesOf, typesOf } from './schema.js';

const sampled = 200; // rows that are looked at
const maxColumns = 200;
const names = new Set(['id', 'uuid', 'guid', 'sha', 'key', 'code', 'zip', 'postcode', 'phone', 'version', 'year', 'number', 'isbn', 'sku', 'iban', 'port', 'pid', 'hash', 'digest', 'index', 'rank']);
const times = new Set(['at', 'on', 'time', 'timestamp', 'date', 'created', 'updated', 'modified', 'expires', 'ts', 'since', 'until', 'dt']);

// columnsOf gives the columns of rows: {key, title, note, kind, digits, filled, distinct}.
// Kinds: id, number, date, time, flag, link, mail, label, text, choice, object,
// list, place, none.
export function columnsOf(rows, schema, root) {
  const hints = new Map(propertiesOf(schema, root).slice(0, maxColumns));
  const keys = new Set(hints.keys());
  const some = sample(rows);
  for (const row of some) {
    for (const key of Object.keys(row)) {
      if (keys.size >= maxColumns) break;
      keys.add(key);
    }
  }
  const columns = [...keys].map((key) => columnOf(key, some.map((r) => own(r, key)), hints.get(key) ?? {}));
  return rows.length === 0 ? columns : columns.filter((c) => c.filled > 0);
}

function sample(rows) {
  const step = Math.max(1, Math.floor(rows.length / sampled));
  return rows.filter((_, i) => i % step === 0).slice(0, sampled + 1);
}

// columnOf says what a column is, by its name, its values and what a schema says.
export function columnOf(key, values, hint = {}) {
  const there = values.filter((v) => !isEmpty(v));
  const title = typeof own(hint, 'title') === 'string' && hint.title.trim() ? hint.title.slice(0, 60) : humanName(key);
  const kind = there.length === 0 ? expected(hint) : kindOf(key, there, hint);
  return {
    key,
    title,
    note: typeof own(hint, 'description') === 'string' ? hint.description.slice(0, 300) : '',
    kind,
    digits: kind === 'number' && there.length > 1 ? digitsOf(there) : 0,
    filled: there.length,
    distinct: new Set(there.filter(isScalar)).size,
  };
}

// digitsOf is how many places behind the point a column of numbers is written with,
// so that they stand below each other: as many as they have, and fewer the larger
// they are.
function digitsOf(values) {
  const largest = Math.max(...values.map((v) => Math.abs(number(v)) || 0));
  const most = Math.max(...values.map((v) => (/^-?\d+\.(\d+)$/.exec(String(v))?.[1] ?? '').length));
  return Math.min(most, largest >= 100 ? 2 : largest >= 1 ? 3 : 6);
}

// expected is the kind of a column that has no values yet.
function expected(hint) {
  const [type] = typesOf(hint);
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'boolean') return 'flag';
  if (type === 'array') return 'list';
  return type === 'object' ? 'object' : 'label';
}

function kindOf(key, values, hint) {
  const mostly = (test) => values.filter(test).length >= values.length * 0.9;
  const list = words(key);
  const last = list.at(-1) ?? '';
  if (isLatitude(key) || isLongitude(key)) return mostly((v) => Number.isFinite(number(v))) ? 'place' : 'label';
  if (mostly((v) => typeof v === 'boolean')) return 'flag';
  if (mostly(Array.isArray)) return 'list';
  if (mostly(isObject)) return 'object';
  if (mostly(isDay)) return 'date';
  if (mostly(isInstant)) return 'time';
  if (list.some((w) => times.has(w)) && mostly((v) => Number.isFinite(epoch(v)))) return 'time';
  if (names.has(last)) return 'id';
  if (mostly((v) => typeof v === 'number')) return 'number';
  if (mostly(isDecimal) && !own(hint, 'format') && values.some((v) => String(v).includes('.'))) return 'number';
  if (mostly(isLink)) return 'link';
  if (!mostly((v) => typeof v === 'string')) return 'label';
  if (mostly((v) => v.length < 255 && /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(v))) return 'mail';
  if (Array.isArray(own(hint, 'enum'))) return 'choice';
  const longest = Math.max(...values.slice(0, sampled).map((v) => (typeof v === 'string' ? v.length : 0)));
  return longest > 60 ? 'text' : 'label';
}

export const isLatitude = (key) => ['lat', 'latitude'].includes(plainName(key));
export const isLongitude = (key) => ['lon', 'lng', 'long', 'longitude'].includes(plainName(key));

const worth = { label: 8, choice: 8, number: 7, date: 7, time: 6, flag: 5, mail: 5, id: 4, text: 3, object: 3, list: 2, place: 2, link: 1, none: 0 };

// mostTelling are the columns to show where there is room for so many only, in
// their order. The first that names a row is always among them.
export function mostTelling(columns, room) {
  if (columns.length <= room) return columns;
  const naming = nameOf(columns);
  const points = (c, i) => {
    let p = worth[c.kind] ?? 0;
    if (c === naming) p += 20;
    if (plainName(c.key) === 'id') p += 3;
    if (/status|state|price|amount|total|type|kind/i.test(c.key)) p += 2;
    if (c.distinct === 1 && c.filled > 3) p -= 4; // all the same
    return p - i / 50;
  };
  const chosen = new Set(columns.map((c, i) => [c, points(c, i)]).sort((a, b) => b[1] - a[1]).slice(0, Math.max(1, room)).map(([c]) => c));
  return columns.filter((c) => chosen.has(c));
}

// nameOf is the column that a person would call a row by.
export function nameOf(columns) {
  const texts = columns.filter((c) => ['label', 'mail', 'choice', 'text', 'id'].includes(c.kind));
  for (const want of ['name', 'title', 'fullname', 'displayname', 'label', 'login', 'username', 'subject', 'summary', 'city', 'country', 'key', 'email', 'slug']) {
    const found = texts.find((c) => plainName(c.key) === want);
    if (found) return found;
  }
  return texts.find((c) => /name|title/i.test(c.key)) ?? texts.find((c) => c.kind === 'label') ?? texts[0] ?? columns[0];
}

// measures are the columns to draw: numbers that vary, no names and no places.
export const measures = (columns) => columns.filter((c) => c.kind === 'number' && c.distinct > 1);

// axisOf is what measures are drawn over: a time where there is one.
export function axisOf(columns, rows) {
  const time = columns.find((c) => (c.kind === 'date' || c.kind === 'time') && c.distinct > 1 && c.distinct >= c.filled * 0.5);
  if (time) return { ...time, time: true };
  const id = columns.find((c) => c.kind === 'id' && plainName(c.key) === 'year' && c.distinct > 1);
  const name = id ?? nameOf(columns.filter((c) => !['number', 'place', 'object', 'list'].includes(c.kind)));
  return name && rows.length > 0 ? { ...name, time: false } : undefined;
}

// whenOf reads the time of a row on such an axis.
export const whenOf = (row, axis) => moment(own(row, axis.key));
