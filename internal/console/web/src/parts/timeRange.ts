// Stretches of time that lists look back over.

const minute = 60_000;
const widths: Record<string, number> = { '1h': 60 * minute, '1d': 1440 * minute, '7d': 7 * 1440 * minute };

export const stretches = [
  { value: '', label: 'All time' },
  { value: '1h', label: 'Last hour' },
  { value: '1d', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
];

// since is when a stretch began, to the minute, so that a list that is asked for
// again asks for the same.
export function since(stretch: string, now = Date.now()): string | undefined {
  const width = widths[stretch];
  return width ? new Date(Math.floor((now - width) / minute) * minute).toISOString() : undefined;
}

// moment is what a field for a local time says, as the API takes it.
export function moment(local: string): string | undefined {
  const at = new Date(local);
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}
