import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { get, getAll, type Page, query, type Schemas } from './client';
import { pollEveryUnlessAdmin } from './live';

// What happens elsewhere, and what follows from it: events, the triggers that
// they fire, the deliveries that these lead to, and where those go.

export type StoredEvent = Schemas['Event'];
export type Taken = Schemas['Taken'];
export type Trigger = Schemas['Trigger'];
export type Trial = Schemas['TriggerTrial'];
export type Source = Schemas['Source'];
export type Schedule = Schemas['Schedule'];
export type Delivery = Schemas['Delivery'];
export type DeliveryAttempt = Schemas['DeliveryAttempt'];
export type Endpoint = Schemas['Lane'];
export type AgentEndpoint = Schemas['AgentEndpoint'];

export type Filter = Record<string, string | undefined>;

const live = pollEveryUnlessAdmin(3_000);

// usePages is a list that goes on: the pages that were looked at, and the first
// again and again.
function usePages<T>(name: string, path: string, filter: Filter, limit: number) {
  const pages = useInfiniteQuery({
    queryKey: [name, 'pages', filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<Page<T>>(`${path}${query({ ...filter, limit, cursor: pageParam })}`, signal),
    getNextPageParam: (last) => last.next || undefined,
    refetchInterval: live,
  });
  return { ...pages, all: pages.data?.pages.flatMap((p) => p.items) };
}

export const useEvents = (filter: Filter, limit = 50) => usePages<StoredEvent>('events', '/events', filter, limit);
export const useEvent = (id: string) =>
  useQuery({ queryKey: ['events', id], queryFn: ({ signal }) => get<StoredEvent>(`/events/${encodeURIComponent(id)}`, signal) });

export const useDeliveries = (filter: Filter, limit = 50) => usePages<Delivery>('deliveries', '/deliveries', filter, limit);
export const useDelivery = (id: string) =>
  useQuery({
    queryKey: ['deliveries', id],
    queryFn: ({ signal }) => get<Delivery>(`/deliveries/${encodeURIComponent(id)}`, signal),
    refetchInterval: pollEveryUnlessAdmin(2_000),
  });

const useList = <T>(name: string, path: string, refetchInterval: number | false | (() => number) = false, enabled = true) =>
  useQuery({
    queryKey: [name],
    queryFn: ({ signal }) => getAll<T>(path, signal),
    select: (p) => p.items,
    refetchInterval,
    enabled,
  });

export const useEndpoints = () => useList<Endpoint>('endpoints', '/endpoints', live);
export const useAgentEndpoints = (enabled: boolean) => useList<AgentEndpoint>('agent-tokens', '/agent-tokens', false, enabled);
export const useTriggers = () => useList<Trigger>('triggers', '/triggers');
export const useReadyTriggers = () => useList<Trigger>('ready-triggers', '/triggers/ready');
export const useSources = () => useList<Source>('sources', '/sources');
export const useSchedules = () => useList<Schedule>('schedules', '/schedules', 10_000);
export const useTrigger = (name: string) =>
  useQuery({ queryKey: ['triggers', name], queryFn: ({ signal }) => get<Trigger>(`/triggers/${encodeURIComponent(name)}`, signal) });
