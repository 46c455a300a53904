import { useQuery } from '@tanstack/react-query';
import { can } from '../app/permissions';
import { useKept } from '../parts/store';
import { get, type Schemas } from './client';
import { useMe, useMyCredentials } from './data';
import { useListPages } from './lists';
import { pollEvery } from './live';

export type AttentionItem = Schemas['AttentionItem'];
export type AttentionList = Schemas['AttentionList'];
export type Severity = AttentionItem['severity'];

// attentionKey is the query of the latest items. The stream writes it, and so does the
// query, from time to time and while there is no stream.
export const attentionKey = ['attention', 'latest'];

const latest = 50;

// useNotifications is the choice of this browser to show notifications.
export const useNotifications = () => useKept(localStorage, 'junctor-notifications', false);

// useLatestAttention reads the most urgent items. A page that nobody sees has no stream, so
// that with notifications it polls.
export function useLatestAttention() {
  const me = useMe().data;
  const [notifies] = useNotifications();
  return useQuery({
    queryKey: attentionKey,
    queryFn: ({ signal }) => get<AttentionList>(`/attention?limit=${latest}`, signal),
    refetchInterval: pollEvery(5_000),
    refetchIntervalInBackground: notifies,
    enabled: can(me, 'audit:read'),
  });
}

// useAttentionPages reads all items page by page.
export const useAttentionPages = (severity: string, kind: string) => useListPages<AttentionItem>('/attention', { severity, kind }, 30_000);

export interface Attention {
  items: AttentionItem[]; // the most urgent first
  credentials: Schemas['MyCredential'][]; // that the user has to enter
  total: number;
  counts: AttentionList['counts'];
  kinds: Readonly<Record<string, number>>; // numbers of items, by kind
  tone: 'bad' | 'warn' | ''; // of the most urgent item
  // Whether there is nothing, and everything was checked. undefined: not known.
  healthy: boolean | undefined;
  checkedAt: string | undefined;
  error: unknown;
}

const none = { critical: 0, warning: 0, info: 0 };

// useAttention is all that needs attention of the user: what the server reports, and the
// credentials that the user has to enter.
export function useAttention(): Attention {
  const me = useMe().data;
  const list = useLatestAttention();
  const mine = useMyCredentials(!!me?.person && can(me, 'tools:call'));
  const credentials = (mine.data ?? []).filter((c) => c.wanted && (!c.entered || c.problem));
  const reported = list.data?.counts ?? none;
  const counts = { ...reported, warning: reported.warning + credentials.length };
  const error = list.error ?? mine.error;
  const known = list.data !== undefined && !error && !mine.isLoading;
  return {
    items: list.data?.items ?? [],
    credentials,
    total: counts.critical + counts.warning + counts.info,
    counts,
    kinds: list.data?.kinds ?? {},
    tone: counts.critical ? 'bad' : counts.warning ? 'warn' : '',
    healthy: known ? list.data.healthy && credentials.length === 0 : undefined,
    checkedAt: list.data?.checked_at,
    error,
  };
}
