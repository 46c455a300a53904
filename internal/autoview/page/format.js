// Values as text for people: in the host's language and zone.
import { isDay, isEmpty, isObject, isScalar, moment, number, own, zoned } from './value.js';

// formats makes the writers for a locale and a time zone that the host names;
// what it names wrongly is not used.
export function formats(locale, timeZone) {
  const lang = usable(() => new Intl.NumberFormat(locale)) ? locale : undefined;
  const zone = usable(() => new Intl.DateTimeFormat('en', { timeZone })) ? timeZone : undefined;
  const dateStyle = { dateStyle: 'medium' };
  const timeStyle = { dateStyle: 'medium', timeStyle: 'short' };
  const grouped = new Intl.NumberFormat(lang, { maximumFractionDigits: 6 });
  const short = new Intl.NumberFormat(lang, { notation: 'compact', maximumFractionDigits: 1 });
  const small = new Intl.NumberFormat(lang, { maximumSignificantDigits: 3 });
  const day = new Intl.DateTimeFormat(lang, { ...dateStyle, timeZone: 'UTC' });
  const there = new Intl.DateTimeFormat(lang, { ...timeStyle, timeZone: 'UTC' }); // as it was written
  const here = new Intl.DateTimeFormat(lang, { ...timeStyle, timeZone: zone });

  const time = (v) => {
    const at = moment(v);
    if (Number.isNaN(at)) return text(v);
    if (isDay(v)) return day.format(at);
    return (typeof v === 'string' && !zoned(v) ? there : here).format(at);
  };
  const count = (v) => (Math.abs(v) >= 1e15 || (v !== 0 && Math.abs(v) < 1e-6) ? String(v) : grouped.format(v));

  const aligned = (v, digits) => (Math.abs(v) < 1e15 ? v.toLocaleString(lang, { minimumFractionDigits: digits, maximumFractionDigits: digits }) : String(v));

  // text is any value in one line.
  const text = (v) => {
    if (isEmpty(v)) return '–';
    if (typeof v === 'boolean') return v ? 'Yes' : 'No';
    if (isScalar(v)) return String(v);
    if (Array.isArray(v)) {
      if (v.length === 0) return 'none';
      if (v.length <= 5 && v.every((x) => isScalar(x) && String(x).length <= 24)) return v.map(text).join(', ');
      return v.length === 1 ? '1 item' : `${grouped.format(v.length)} items`;
    }
    return labelOf(v);
  };

  // labelOf is what an object would be called.
  const labelOf = (object) => {
    for (const key of ['name', 'title', 'label', 'login', 'displayName', 'display_name', 'username', 'email', 'summary', 'value', 'code', 'id']) {
      const v = own(object, key);
      if (isScalar(v) && !isEmpty(v) && typeof v !== 'boolean') return String(v).slice(0, 80);
    }
    const scalars = Object.values(object).filter((v) => isScalar(v) && !isEmpty(v)).slice(0, 3);
    if (scalars.length > 0 && scalars.length === Object.keys(object).length) return scalars.map((v) => String(v).slice(0, 24)).join(', ');
    const n = Object.keys(object).length;
    return n === 0 ? '–' : n === 1 ? '1 field' : `${grouped.format(n)} fields`;
  };

  return {
    text,
    time,
    labelOf,
    count,
    short: (v) => (Math.abs(v) >= 10000 ? short.format(v) : small.format(v)),
    // cell is a value of a column of some kind.
    cell: (v, kind, digits = 0) => {
      if (isEmpty(v)) return '–';
      if (kind === 'number' && Number.isFinite(number(v))) return digits > 0 ? aligned(number(v), digits) : count(number(v));
      if (kind === 'place' && typeof v === 'number') return v.toFixed(5).replace(/\.?0+$/, '');
      if ((kind === 'date' || kind === 'time') && isScalar(v)) return time(v);
      return text(v);
    },
    // tick is a moment on an axis that spans so many milliseconds.
    tick: (ms, span) => {
      const parts = span > 3 * 365 * 864e5 ? { year: 'numeric' } : span > 90 * 864e5 ? { month: 'short', year: '2-digit' } : span > 2 * 864e5 ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit' };
      return new Intl.DateTimeFormat(lang, { ...parts, timeZone: 'UTC' }).format(ms);
    },
  };
}

function usable(make) {
  try {
    make();
    return true;
  } catch {
    return false;
  }
}

// draw writes JSON as text, up to so many characters and levels: an answer may be
// deeper than a program's stack.
export function draw(value, limit = 200000, depth = 60) {
  let out = '';
  let cut = false;
  const put = (s) => {
    if (out.length + s.length > limit) {
      out += s.slice(0, limit - out.length);
      cut = true;
    } else out += s;
  };
  const walk = (v, indent, level) => {
    if (cut) return;
    if (!Array.isArray(v) && !isObject(v)) return put(v === undefined ? 'null' : JSON.stringify(v));
    const list = Array.isArray(v);
    const keys = list ? v : Object.keys(v);
    if (keys.length === 0) return put(list ? '[]' : '{}');
    if (level >= depth) return put('…');
    put(list ? '[' : '{');
    for (let i = 0; i < keys.length && !cut; i++) {
      put(`${i > 0 ? ',' : ''}\n${indent}  `);
      if (!list) put(`${JSON.stringify(keys[i])}: `);
      walk(list ? v[i] : v[keys[i]], `${indent}  `, level + 1);
    }
    put(`\n${indent}${list ? ']' : '}'}`);
  };
  walk(value, '', 0);
  return { text: out, cut };
}
