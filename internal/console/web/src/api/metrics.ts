import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { newRange, type Range } from '../parts/range';
import { get, query, type Schemas } from './client';
import { pollEveryUnlessAdmin } from './live';

export type Metrics = Schemas['Answer'];
export type Series = Metrics['series'][number];
export type Numbers = Series['total'];

// Selection is which series of the API are shown.
export interface Selection {
  by: 'all' | 'server' | 'tool' | 'agent' | 'user' | 'caller' | 'entry_point' | 'agent_tool' | 'user_tool' | 'key' | 'policy';
  first?: string;
  second?: string;
}

const soon = pollEveryUnlessAdmin(5_000);
const later = 60_000;
const longRange = 6 * 3_600_000;

// useMetrics reads numbers of calls over time. If the range is live, short ranges are read
// again when the stream names the numbers, and long ranges, in which one call is not seen,
// once a minute.
export function useMetrics(of: Selection, range: Range, { limit = 1, points = true, enabled = true } = {}) {
  const long = range.to - range.from > longRange;
  const still = range.live ? '' : `${range.from} ${range.to}`;
  return useQuery({
    queryKey: [range.live && !long ? 'metrics' : 'metrics-rarely', of, range.key, still, limit, points],
    queryFn: ({ signal }) => {
      const r = range.live ? newRange({ range: range.key, from: '', to: '', live: true }, Date.now()) : range;
      return get<Metrics>(
        `/metrics${query({
          ...of,
          step: r.step,
          limit,
          from: new Date(r.from).toISOString(),
          to: new Date(r.to).toISOString(),
          points: points ? undefined : 'false',
        })}`,
        signal,
      );
    },
    placeholderData: (before, q) =>
      q?.queryKey[1] && JSON.stringify(q.queryKey[1]) === JSON.stringify(of) ? keepPreviousData(before) : undefined,
    refetchInterval: range.live ? (long ? later : soon) : false,
    refetchOnWindowFocus: range.live,
    enabled,
  });
}

export type DeliveryMetrics = Schemas['DeliveryTimeline'];
export type DeliveryPoint = DeliveryMetrics['points'][number];
export type Outage = Schemas['Outage'];

// useOverTime reads something else over time than calls. list is the name that the stream has
// for its changes.
function useOverTime<T>(
  list: string,
  path: string,
  filter: Readonly<Record<string, string>>,
  range: Range,
  withStep: boolean,
  enabled: boolean,
) {
  const still = range.live ? '' : `${range.from} ${range.to}`;
  return useQuery({
    queryKey: [list, 'over-time', filter, range.key, still],
    queryFn: ({ signal }) => {
      const r = range.live ? newRange({ range: range.key, from: '', to: '', live: true }, Date.now()) : range;
      const [from, to] = [new Date(r.from).toISOString(), new Date(r.to).toISOString()];
      return get<T>(`${path}${query({ ...filter, from, to, step: withStep ? r.step : undefined })}`, signal);
    },
    placeholderData: (before, q) => (JSON.stringify(q?.queryKey[2]) === JSON.stringify(filter) ? keepPreviousData(before) : undefined),
    refetchInterval: range.live ? soon : false,
    refetchOnWindowFocus: range.live,
    enabled,
  });
}

// useDeliveryMetrics reads how deliveries ended over time, and how many had not ended.
export const useDeliveryMetrics = (filter: Readonly<Record<string, string>>, range: Range, enabled = true) =>
  useOverTime<DeliveryMetrics>('deliveries', '/metrics/deliveries', filter, range, true, enabled);

// useOutages reads when servers did not work.
export const useOutages = (filter: Readonly<Record<string, string>>, range: Range, enabled = true) =>
  useOverTime<Schemas['OutageList']>('servers', '/metrics/servers', filter, range, false, enabled);

export const noNumbers: Numbers = {
  calls: 0,
  errors: 0,
  timeouts: 0,
  canceled: 0,
  denied: 0,
  limited: 0,
  invalid: 0,
  duration_us: 0,
  bytes_in: 0,
  bytes_out: 0,
  tool_lists: 0,
  definition_tokens: 0,
  p50_us: 0,
  p95_us: 0,
  p99_us: 0,
};

// Calls that failed ran and ended with an error, a timeout or a cancellation. Refused calls
// never ran.
export const failedCalls = (n: Numbers): number => n.errors + n.timeouts + n.canceled;
export const refusedCalls = (n: Numbers): number => n.denied + n.limited + n.invalid;
