import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { get, type ListedServer, type Page, query, type Tool } from './client';

// Lists of which a screen shows one page after another. The server searches and sorts
// them, and says how many items there are.

export type ListFilter = Record<string, string | undefined>;

const pageSize = 100;

// useListPages reads the pages of a list that were looked at. While another search or sort
// loads, the former pages stay.
export function useListPages<T>(path: string, filter: ListFilter, refetchInterval: number | false = false) {
  const pages = useInfiniteQuery({
    queryKey: [path.split('/')[1], 'pages', path, filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<Page<T>>(`${path}${query({ ...filter, limit: pageSize, cursor: pageParam })}`, signal),
    getNextPageParam: (last) => last.next || undefined,
    placeholderData: keepPreviousData,
    refetchInterval,
    staleTime: 5_000,
  });
  return { ...pages, all: pages.data?.pages.flatMap((p) => p.items), total: pages.data?.pages[0]?.total ?? 0 };
}

export const useServerPages = (filter: ListFilter) => useListPages<ListedServer>('/servers', filter, 5_000);
export const useToolPages = (filter: ListFilter) => useListPages<Tool>('/tools', { ...filter, schemas: 'false' });

// useTotal is the number of items of a list, without the items.
export const useTotal = (path: string, filter: ListFilter = {}, enabled = true, refetchInterval = 5_000) =>
  useQuery({
    queryKey: [path.split('/')[1], 'total', path, filter],
    queryFn: ({ signal }) => get<Page<unknown>>(`${path}${query({ ...filter, limit: '0' })}`, signal),
    select: (p) => p.total ?? 0,
    refetchInterval,
    enabled,
  });

// useFirst reads the beginning of a list.
export const useFirst = <T>(path: string, filter: ListFilter, limit: number, enabled = true) =>
  useQuery({
    queryKey: [path.split('/')[1], 'first', path, filter, limit],
    queryFn: ({ signal }) => get<Page<T>>(`${path}${query({ ...filter, limit })}`, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
    enabled,
  });
