// How values are written for people.

const units: [number, string, string][] = [
  [60, 'second', 's'],
  [60, 'minute', 'min'],
  [24, 'hour', 'h'],
  [30, 'day', 'd'],
  [12, 'month', 'mo'],
  [Number.POSITIVE_INFINITY, 'year', 'y'],
];

// ago is how long ago a moment was, or how far ahead it is, in one unit.
export function ago(then: Date, now: Date): string {
  let n = (now.getTime() - then.getTime()) / 1000;
  const ahead = n < 0;
  n = Math.abs(n);
  if (n < 5) return 'now';
  for (const [size, , short] of units) {
    if (n < size) {
      const text = `${Math.floor(n)} ${short}`;
      return ahead ? `in ${text}` : `${text} ago`;
    }
    n /= size;
  }
  return '';
}

// Making a format costs far more than using it, and lists have many times.
const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const clocks = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', hour12: false });
const numbers = new Intl.NumberFormat('en');

export const absolute = (then: Date): string => moments.format(then);

export const clock = (then: Date): string => clocks.format(then);

// span is a duration in nanoseconds, with two figures that count.
export function span(ns: number | undefined): string {
  if (ns === undefined) return '';
  const ms = ns / 1e6;
  if (ms < 0.9995) return `${(ms * 1000).toFixed(0)} µs`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${(ms / 60_000).toFixed(1)} min`;
}

// age is a number of seconds in one or two units.
export function age(seconds: number): string {
  const s = Math.floor(seconds);
  if (s < 60) return `${s} s`;
  const [d, h, min] = [Math.floor(s / 86_400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  if (d > 0) return h > 0 ? `${d} d ${h} h` : `${d} d`;
  if (h > 0) return min > 0 ? `${h} h ${min} min` : `${h} h`;
  return `${min} min`;
}

export function bytes(n: number | undefined): string {
  if (n === undefined) return '';
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

export const count = (n: number): string => numbers.format(n);

// counted is so many of something.
export const counted = (n: number, noun: string, plural = `${noun}s`): string => `${count(n)} ${n === 1 ? noun : plural}`;

export function short(n: number): string {
  if (n < 1000) return String(n);
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}
