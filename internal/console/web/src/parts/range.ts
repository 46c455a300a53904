// The ranges of time that charts show, as the address has them.

export const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

// Range is a time range: the last so many milliseconds, or from one moment to another.
export interface Range {
  key: string; // a key of ranges, or 'custom'
  from: number;
  to: number;
  step: string; // length of a point as the API takes it; '' lets the server choose
  live: boolean; // whether it follows the time
}

interface Choice {
  key: string;
  label: string;
  name: string;
  width: number;
  step: string;
}

export const ranges: readonly Choice[] = [
  { key: '15m', label: '15 min', name: 'Last 15 minutes', width: 15 * minute, step: '1m' },
  { key: '1h', label: '1 h', name: 'Last hour', width: hour, step: '1m' },
  { key: '6h', label: '6 h', name: 'Last 6 hours', width: 6 * hour, step: '5m' },
  { key: '24h', label: '24 h', name: 'Last 24 hours', width: day, step: '15m' },
  { key: '7d', label: '7 d', name: 'Last 7 days', width: 7 * day, step: '2h' },
  { key: '30d', label: '30 d', name: 'Last 30 days', width: 30 * day, step: '6h' },
  { key: '90d', label: '90 d', name: 'Last 90 days', width: 90 * day, step: '24h' },
];

export const usualRange = '1h';

// Choosing is what the address says of the range.
export interface Choosing {
  range: string;
  from: string;
  to: string;
  live: boolean;
}

// newRange returns the range that is chosen. Without a valid choice it is the usual one. It
// ends with the minute that now is in.
export function newRange(c: Choosing, now: number): Range {
  const [from, to] = [Date.parse(c.from), Date.parse(c.to)];
  if (c.range === 'custom' && from < to) return { key: 'custom', from, to, step: '', live: false };
  const choice = ranges.find((r) => r.key === c.range) ?? (ranges.find((r) => r.key === usualRange) as Choice);
  const end = (Math.floor(now / minute) + 1) * minute;
  return { key: choice.key, from: end - choice.width, to: end, step: choice.step, live: c.live };
}

// nameOf says which time a range is of.
export const nameOf = (r: Range): string =>
  ranges.find((c) => c.key === r.key)?.name ?? `${moments.format(r.from)} – ${moments.format(r.to)}`;

const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

// toLocal writes a moment as a field of the type datetime-local has it.
export function toLocal(at: number | string): string {
  const then = new Date(at);
  if (Number.isNaN(then.getTime())) return '';
  return new Date(then.getTime() - then.getTimezoneOffset() * minute).toISOString().slice(0, 16);
}

// fromLocal reads what toLocal wrote; undefined if it is no moment.
export function fromLocal(local: string): string | undefined {
  const at = new Date(local);
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}

// callsIn is the address of the list of calls that started in a period.
export function callsIn(from: number, to: number, filter: Readonly<Record<string, string>> = {}): string {
  return `/calls?${new URLSearchParams({ ...filter, since: new Date(from).toISOString(), until: new Date(to).toISOString() })}`;
}
