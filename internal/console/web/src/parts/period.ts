// The periods that lists of calls can be limited to, by the value in the address.
export const periods: [string, string, number][] = [
  ['1h', 'Last hour', 3600_000],
  ['1d', 'Last 24 hours', 86_400_000],
  ['7d', 'Last 7 days', 7 * 86_400_000],
  ['', 'All time', 0],
];

const minute = 60_000;

// sinceOf is when a period begins. It changes once a minute, so that a list is not loaded
// again with every drawing.
export function sinceOf(period: string): string | undefined {
  const width = periods.find(([value]) => value === period)?.[2] ?? 0;
  return width ? new Date(Math.floor((Date.now() - width) / minute) * minute).toISOString() : undefined;
}
