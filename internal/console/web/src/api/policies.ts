import { useQueries, useQuery } from '@tanstack/react-query';
import { get, getAll, type Schemas, type Tool } from './client';
import { pollEvery } from './live';
import type { Numbers } from './metrics';
import { useMetrics } from './metrics';

// Rules about calls: which there are, and what they did.

export type PolicyEntry = Schemas['PolicyEntry'];
export type PolicyRule = Schemas['PolicyRule'];
export type PolicyProblem = Schemas['PolicyProblem'];
export type PolicySimulation = Schemas['PolicySimulation'];
export type PolicyExplanation = Schemas['PolicyExplanation'];
export type PolicyHit = Schemas['PolicyHit'];

export const usePolicies = (enabled = true) =>
  useQuery({
    queryKey: ['policies'],
    queryFn: ({ signal }) => getAll<PolicyEntry>('/policies', signal),
    select: (p) => p.items,
    refetchInterval: pollEvery(5_000),
    enabled,
  });

export const usePolicy = (name: string) =>
  useQuery({
    queryKey: ['policies', name],
    queryFn: ({ signal }) => get<PolicyEntry>(`/policies/${encodeURIComponent(name)}`, signal),
  });

export const usePolicyTemplates = () =>
  useQuery({
    queryKey: ['policy-templates'],
    queryFn: ({ signal }) => getAll<PolicyRule>('/policy-templates', signal),
    select: (p) => p.items,
    staleTime: Number.POSITIVE_INFINITY,
  });

export const useExplanation = (call: string, enabled: boolean) =>
  useQuery({
    queryKey: ['calls', call, 'policies'],
    queryFn: ({ signal }) => get<PolicyExplanation>(`/calls/${encodeURIComponent(call)}/policies`, signal),
    enabled,
    staleTime: 0,
  });

const day = 24 * 3_600_000;

// usePolicyNumbers reads how many calls each rule matched in the last 24 hours. Only admins see
// the calls of all.
export function usePolicyNumbers(enabled: boolean): { numbers: ReadonlyMap<string, Numbers>; known: boolean } {
  const to = Date.now();
  const all = useMetrics(
    { by: 'policy' },
    { key: '24h', from: to - day, to, step: '', live: true },
    { limit: mostNumbers, points: false, enabled },
  );
  return { numbers: new Map((all.data?.series ?? []).map((s) => [s.first, s.total])), known: all.data !== undefined };
}

const mostNumbers = 100; // of rules, those that matched the most calls

// useToolDefinitions reads tools with their schemas, each by its name.
export const useToolDefinitions = (names: readonly string[], enabled: boolean): Tool[] =>
  useQueries({
    queries: names.map((name) => ({
      queryKey: ['tool', name],
      queryFn: ({ signal }: { signal: AbortSignal }) => get<Tool>(`/tools/${encodeURIComponent(name)}`, signal),
      enabled,
      staleTime: 60_000,
    })),
    combine: (all) => all.flatMap((one) => (one.data ? [one.data] : [])),
  });
