import { useQuery } from '@tanstack/react-query';
import { type Call, get, getAll, type Page, query, type Schemas } from '../api/client';

export type Sum = Schemas['Usage'];

const day = 86_400_000;
export const sinceOf = (days: number): string => new Date(Date.now() - (days - 1) * day).toISOString().slice(0, 10);

// useSums sums calls up since a day. A filter is what the API takes.
export const useSums = (by: string, since: string, filter: Record<string, string> = {}, enabled = true) =>
  useQuery({
    queryKey: ['usage', by, since, filter],
    queryFn: ({ signal }) => getAll<Sum>(`/usage${query({ by, since: `${since}T00:00:00Z`, ...filter })}`, signal),
    select: (p) => p.items,
    enabled,
  });

const bad = ['error', 'timeout', 'denied', 'limited', 'invalid'];
export const mostErrors = 1000;

export interface Errors {
  code: string;
  status: Call['status'];
  calls: number;
  reason: string; // of the newest
  newest: string; // its id
}

// useErrors groups the newest calls that failed or were refused by what they
// failed with.
export const useErrors = (since: string, enabled: boolean) =>
  useQuery({
    queryKey: ['usage', 'error', since],
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(
        bad.map((status) => get<Page<Call>>(`/calls${query({ status, since: `${since}T00:00:00Z`, limit: mostErrors })}`, signal)),
      );
      const all = new Map<string, Errors>();
      for (const c of pages.flatMap((p) => p.items)) {
        const key = `${c.status} ${c.code}`;
        const known = all.get(key);
        if (known) known.calls++;
        else all.set(key, { code: c.code || 'tool error', status: c.status, calls: 1, reason: c.reason ?? '', newest: c.id });
      }
      return [...all.values()].sort((a, b) => b.calls - a.calls);
    },
    enabled,
  });
