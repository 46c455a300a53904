import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Failure, get, type Page, query } from '../../api/client';
import { Ago } from '../../parts/elements';
import { absolute } from '../../parts/format';

export const useNextTimes = (cron: string, timezone: string, limit: number) =>
  useQuery({
    queryKey: ['times', cron, timezone, limit],
    queryFn: ({ signal }) => get<Page<string>>(`/schedules/times${query({ cron, timezone, limit })}`, signal),
    select: (p) => p.items,
    enabled: cron.trim() !== '',
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
    retry: false,
  });

// NextTimes are the next times of a schedule, or why there are none.
export function NextTimes({ cron, timezone, limit }: { cron: string; timezone: string; limit: number }) {
  const times = useNextTimes(cron, timezone, limit);
  if (times.error)
    return (
      <p className="small wrap" role="status" style={{ color: 'var(--bad)' }}>
        {times.error instanceof Failure ? times.error.message : 'The next times are unavailable.'}
      </p>
    );
  if (!times.data) return null;
  if (times.data.length === 0) return <p className="small soft">This schedule never runs.</p>;
  return (
    <ol className="plainlist small num" aria-label="Next times" style={{ gap: 0 }}>
      {times.data.map((t) => (
        <li key={t}>
          {absolute(new Date(t))}{' '}
          <span className="soft">
            <Ago at={t} />
          </span>
        </li>
      ))}
    </ol>
  );
}
