import { useInfiniteQuery } from '@tanstack/react-query';
import { get, type Page, query, type Schemas } from './client';

export type AdminChange = Schemas['AdminChange'];
export type ChangeFilter = Partial<Record<'actor' | 'object' | 'object_id' | 'entry_point' | 'since' | 'q', string | undefined>>;

const pageSize = 25;

// useAdminChanges reads administrative changes page by page, newest first.
export const useAdminChanges = (filter: ChangeFilter) => {
  const pages = useInfiniteQuery({
    queryKey: ['admin-changes', filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      get<Page<AdminChange>>(`/changes${query({ ...filter, limit: pageSize, cursor: pageParam })}`, signal),
    getNextPageParam: (last) => last.next || undefined,
    refetchInterval: 15_000,
  });
  return { ...pages, all: pages.data?.pages.flatMap((p) => p.items) };
};
