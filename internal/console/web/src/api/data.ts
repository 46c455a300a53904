import { QueryClient, useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { can } from '../app/permissions';
import { who } from '../parts/calls';
import {
  type Agent,
  type Call,
  Failure,
  get,
  getAll,
  type Key,
  type ListedServer,
  type Me,
  type Page,
  query,
  type Schemas,
  type ServerDetail,
  type Tool,
} from './client';
import { pollEvery } from './live';

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      // What is refused stays refused; what did not answer may answer again.
      retry: (count, err) => count < 2 && err instanceof Failure && err.problem.code === 'unreachable',
    },
  },
});

const live = pollEvery(5_000);
const polled = 5_000; // what the stream does not name

export const useMe = () => useQuery({ queryKey: ['me'], queryFn: ({ signal }) => get<Me>('/me', signal), staleTime: 60_000 });
export const useVersion = () =>
  useQuery({
    queryKey: ['version'],
    queryFn: ({ signal }) => get<Schemas['Version']>('/version', signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const useServers = () =>
  useQuery({
    queryKey: ['servers'],
    queryFn: ({ signal }) => getAll<ListedServer>('/servers', signal),
    refetchInterval: live,
    select: (p) => p.items,
  });
export const useServer = (id: string) =>
  useQuery({
    queryKey: ['servers', id],
    queryFn: ({ signal }) => get<ServerDetail>(`/servers/${encodeURIComponent(id)}`, signal),
    refetchInterval: live,
  });
export const useOffer = (id: string, enabled = true) =>
  useQuery({
    queryKey: ['servers', id, 'offer'],
    queryFn: ({ signal }) => get<Schemas['Offer']>(`/servers/${encodeURIComponent(id)}/offer`, signal),
    enabled,
  });

// useTools reads all tools of a server, or of all servers, without their schemas. It is for
// screens that choose among all of them; others read pages.
export const useTools = (server = '', enabled = true) =>
  useQuery({
    queryKey: ['tools', 'all', server],
    queryFn: ({ signal }) => getAll<Tool>(`/tools${query({ server, schemas: 'false' })}`, signal),
    select: (p) => p.items,
    staleTime: 10_000,
    enabled,
  });
export const useTool = (name: string) =>
  useQuery({
    queryKey: ['tool', name],
    queryFn: ({ signal }) => get<Tool>(`/tools/${encodeURIComponent(name)}`, signal),
    enabled: name !== '',
  });
export const useToolChanges = (filter: { server?: string; tool?: string } = {}) =>
  useQuery({
    queryKey: ['changes', filter],
    queryFn: ({ signal }) => get<Page<Schemas['ToolChange']>>(`/tools/changes${query(filter)}`, signal),
    select: (p) => p.items,
  });
export const useApp = (name: string) =>
  useQuery({
    queryKey: ['apps', name],
    queryFn: ({ signal }) => get<Schemas['App']>(`/apps/${encodeURIComponent(name)}`, signal),
  });
export const useRoles = () =>
  useQuery({
    queryKey: ['roles'],
    queryFn: ({ signal }) => getAll<Schemas['RoleInfo']>('/roles', signal),
    select: (p) => p.items,
    staleTime: 60_000,
  });

export const useAgents = (enabled = true) =>
  useQuery({ queryKey: ['agents'], queryFn: ({ signal }) => getAll<Agent>('/agents', signal), select: (p) => p.items, enabled });
export const useAgent = (name: string) =>
  useQuery({
    queryKey: ['agents', name],
    queryFn: ({ signal }) => get<Schemas['AgentDetails']>(`/agents/${encodeURIComponent(name)}`, signal),
  });
export const useAgentTools = (name: string) =>
  useQuery({
    queryKey: ['agents', name, 'tools'],
    queryFn: ({ signal }) => getAll<Tool>(`/agents/${encodeURIComponent(name)}/tools?schemas=false`, signal),
    select: (p) => p.items,
  });

export const useKeys = (enabled = true) =>
  useQuery({ queryKey: ['keys'], queryFn: ({ signal }) => getAll<Key>('/keys', signal), select: (p) => p.items, enabled });

export const useCall = (id: string) =>
  useQuery({
    queryKey: ['calls', id],
    queryFn: ({ signal }) => get<Schemas['CallDetails']>(`/calls/${encodeURIComponent(id)}`, signal),
    retry: 3,
    retryDelay: 400,
  });

export const useServerLogin = (id: string, shared: boolean, enabled: boolean) =>
  useQuery({
    queryKey: ['servers', id, 'login', shared],
    queryFn: ({ signal }) => get<Schemas['ServerLogin']>(`/servers/${encodeURIComponent(id)}/login${shared ? '?shared=true' : ''}`, signal),
    enabled,
    // A login happens in another tab, in front of this one.
    refetchInterval: polled,
    refetchIntervalInBackground: true,
  });
export const useTraces = (id: string, enabled: boolean) =>
  useQuery({
    queryKey: ['servers', id, 'traces'],
    queryFn: ({ signal }) => getAll<Schemas['Trace']>(`/servers/${encodeURIComponent(id)}/traces`, signal),
    select: (p) => p.items,
    enabled,
    refetchInterval: polled,
    refetchIntervalInBackground: true,
  });
export const useMyCredentials = (enabled: boolean) =>
  useQuery({
    queryKey: ['credentials'],
    queryFn: ({ signal }) => getAll<Schemas['MyCredential']>('/me/credentials', signal),
    select: (p) => p.items,
    enabled,
  });

// A pack of the gallery does not change while the program runs; what is taken
// does.
export const usePacks = () =>
  useQuery({
    queryKey: ['packs'],
    queryFn: ({ signal }) => getAll<Schemas['PackPlan']>('/packs', signal),
    select: (p) => p.items,
    staleTime: 30_000,
  });

// useWho gives a name for the caller of a call: records have IDs of users and keys, and only
// admins may list those of others.
export function useWho(): (c: Pick<Call, 'agent' | 'issuer' | 'subject'>) => string {
  const me = useMe().data;
  const users = useQuery({
    queryKey: ['users'],
    queryFn: ({ signal }) => getAll<Schemas['User']>('/users', signal),
    select: (p) => p.items,
    enabled: me?.scopes.includes('admin') ?? false,
    staleTime: 60_000,
  });
  const known = users.data;
  const keys = useKeys(can(me, 'admin')).data;
  return useCallback(
    (c) => {
      if (c.agent) return c.agent;
      if (c.issuer === 'key') return keys?.find((k) => k.id === c.subject)?.name ?? c.subject;
      if (c.issuer !== 'user') return who(c);
      if (c.subject === me?.subject) return me.name || c.subject;
      return known?.find((u) => u.id === c.subject)?.name ?? c.subject;
    },
    [me, known, keys],
  );
}
