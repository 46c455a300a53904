import { type ReactNode, useMemo } from 'react';
import type { Schemas } from '../api/client';
import { Chart } from './Chart';
import { newDayData } from './chartData';
import { count, short } from './format';
import { callsIn } from './range';

type Sum = Schemas['Usage'];

// DayChart draws the calls of whole days in UTC. filter is that of the list of calls.
export function DayChart({
  query,
  since,
  days,
  filter,
  empty,
}: {
  query: { data: Sum[] | undefined; error: unknown; refetch: () => unknown };
  since: string;
  days: number;
  filter: Readonly<Record<string, string>>;
  empty: ReactNode;
}) {
  const data = useMemo(() => query.data && newDayData(query.data, since, days), [query.data, since, days]);
  return (
    <Chart
      title="Calls per day"
      kind="bars"
      data={data}
      error={query.error}
      retry={() => void query.refetch()}
      axis={(n) => (n < 1000 ? count(n) : short(n).replace('.0k', 'k'))}
      href={(from, to) => callsIn(from, to, filter)}
      empty={empty}
    />
  );
}
