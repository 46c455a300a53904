import { asNumber } from './data.ts';

// How values of a surface are written for people: numbers, amounts and dates as in the
// language of the browser, the rest in that of the console.

const language = globalThis.navigator?.language || 'en';

export function number(value: unknown, decimals?: number, grouping = true): string {
  const n = asNumber(value);
  if (n === undefined) return '';
  const places = decimals === undefined ? {} : { minimumFractionDigits: held(decimals), maximumFractionDigits: held(decimals) };
  return new Intl.NumberFormat(language, { useGrouping: grouping, ...places }).format(n);
}

const held = (n: number) => Math.max(0, Math.min(20, Math.trunc(n)));

export function money(value: unknown, currency: string, decimals?: number, grouping = true): string {
  const n = asNumber(value);
  if (n === undefined) return '';
  if (!/^[A-Za-z]{3}$/.test(currency)) return number(n, decimals ?? 2, grouping);
  const places = decimals === undefined ? {} : { minimumFractionDigits: held(decimals), maximumFractionDigits: held(decimals) };
  return new Intl.NumberFormat(language, { style: 'currency', currency, useGrouping: grouping, ...places }).format(n);
}

// moment reads a time. A day alone is that day wherever one is.
export function moment(value: unknown): Date | undefined {
  const day = typeof value === 'string' ? /^(\d{4})-(\d\d)-(\d\d)$/.exec(value) : null;
  const d = day
    ? new Date(Number(day[1]), Number(day[2]) - 1, Number(day[3]))
    : typeof value === 'string' || typeof value === 'number'
      ? new Date(value)
      : undefined;
  return d && !Number.isNaN(d.getTime()) ? d : undefined;
}

const name = (d: Date, o: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, o).format(d);
const two = (n: number) => String(n).padStart(2, '0');
const hour12 = (d: Date) => d.getHours() % 12 || 12;

const tokens: Record<string, (d: Date) => string> = {
  yyyy: (d) => String(d.getFullYear()).padStart(4, '0'),
  yy: (d) => two(d.getFullYear() % 100),
  y: (d) => String(d.getFullYear()),
  MMMM: (d) => name(d, { month: 'long' }),
  MMM: (d) => name(d, { month: 'short' }),
  MM: (d) => two(d.getMonth() + 1),
  M: (d) => String(d.getMonth() + 1),
  dd: (d) => two(d.getDate()),
  d: (d) => String(d.getDate()),
  EEEE: (d) => name(d, { weekday: 'long' }),
  EEE: (d) => name(d, { weekday: 'short' }),
  EE: (d) => name(d, { weekday: 'short' }),
  E: (d) => name(d, { weekday: 'short' }),
  HH: (d) => two(d.getHours()),
  H: (d) => String(d.getHours()),
  hh: (d) => two(hour12(d)),
  h: (d) => String(hour12(d)),
  mm: (d) => two(d.getMinutes()),
  m: (d) => String(d.getMinutes()),
  ss: (d) => two(d.getSeconds()),
  s: (d) => String(d.getSeconds()),
  a: (d) => (d.getHours() < 12 ? 'AM' : 'PM'),
};

// date writes a time by a pattern of Unicode TR35: letters are parts of it, what
// stands in single quotes is itself.
export function date(value: unknown, pattern: string): string {
  const d = moment(value);
  if (!d) return '';
  return pattern.replace(/'((?:[^']|'')*)'|([A-Za-z])\2*/g, (whole, quoted: string | undefined) => {
    if (quoted !== undefined) return quoted === '' ? "'" : quoted.replaceAll("''", "'");
    return tokens[whole]?.(d) ?? whole;
  });
}

const days = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });

// day is a date as lists show it.
export const day = (value: unknown): string => {
  const d = moment(value);
  return d ? days.format(d) : '';
};

const plurals = new Intl.PluralRules('en');

export function plural(n: number, forms: Readonly<Record<string, string | undefined>>): string {
  if (n === 0 && forms.zero !== undefined) return forms.zero;
  return forms[plurals.select(n)] ?? forms.other ?? '';
}
