import { useQuery } from '@tanstack/react-query';
import { get, getAll, type Page, query, type Schemas } from './client';

// What is read of chains: how far, what registries said, and the agents there.

export type Chain = Schemas['ChainStatus'];
export type ChainEvent = Schemas['ChainEvent'];
export type ChainAgent = Schemas['ChainAgent'];

const live = 3_000;

export const useChains = () =>
  useQuery({
    queryKey: ['chains'],
    queryFn: ({ signal }) => getAll<Chain>('/chains', signal),
    select: (p) => p.items,
    refetchInterval: live,
  });

export const useChainEvents = (filter: { chain?: string; agent?: string; state?: string }, limit = 50) =>
  useQuery({
    queryKey: ['chain-events', filter, limit],
    queryFn: ({ signal }) => get<Page<ChainEvent>>(`/chains/events${query({ ...filter, limit })}`, signal),
    select: (p) => p.items,
    refetchInterval: live,
  });

export const useChainAgents = () =>
  useQuery({
    queryKey: ['chain-agents'],
    queryFn: ({ signal }) => getAll<ChainAgent>('/chains/agents', signal),
    select: (p) => p.items,
    refetchInterval: live,
  });
