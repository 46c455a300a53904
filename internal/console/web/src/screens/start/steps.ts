import { useQuery } from '@tanstack/react-query';
import { get, type Page, type Schemas } from '../../api/client';
import { useAgents, useMe, useServers } from '../../api/data';
import { useFeed } from '../../api/feed';
import { can, type Scope } from '../../app/may';

export interface FirstStep {
  key: 'call' | 'server' | 'client' | 'agent';
  name: string;
  text: string;
  to: string;
  act: string;
  needs?: Scope;
  done: boolean;
}

const clients = ['mcp', 'sse', 'stdio'];

// useFirstSteps are what makes an instance one's own. Each is done when it
// really happened; undefined until that is known.
export function useFirstSteps(): FirstStep[] | undefined {
  const me = useMe().data;
  const audits = can(me, 'audit:read');
  const feed = useFeed(audits);
  const servers = useServers();
  const agents = useAgents(can(me, 'tools:read'));
  // What happened before the newest calls, too.
  const doors = useQuery({
    queryKey: ['usage', 'door', 'ever'],
    queryFn: ({ signal }) => get<Page<Schemas['Usage']>>('/usage?by=door', signal),
    select: (p) => p.items,
    enabled: audits,
    staleTime: 30_000,
  });
  if (!me || !servers.data || (audits && (!feed.loaded || doors.isPending))) return undefined;
  const worked = (doors.data ?? []).some((d) => d.calls > d.errors + d.refused);
  return [
    {
      key: 'call',
      name: 'Call a tool',
      text: 'The server “demo” is inside the binary and needs nothing.',
      to: '/playground?name=demo__add',
      act: 'Open the playground',
      done: worked || feed.calls.some((c) => c.kind === 'tool' && c.status === 'success'),
    },
    {
      key: 'server',
      name: 'Add a server',
      text: 'An MCP server at a URL, a command, or all of an mcp.json.',
      to: '/servers/add',
      act: 'Add one',
      needs: 'servers:write',
      done: servers.data.some((s) => s.mode !== 'builtin' && s.owner !== 'local:demo'), // the demo's own are nobody's doing
    },
    {
      key: 'client',
      name: 'Connect your client',
      text: 'Claude, Cursor, VS Code and others: one command, or a key and an address.',
      to: '/settings?tab=connect',
      act: 'Show how',
      done: (doors.data ?? []).some((d) => clients.includes(d.door ?? '')) || feed.calls.some((c) => clients.includes(c.door)),
    },
    {
      key: 'agent',
      name: 'Make an agent',
      text: 'A name, a role and the tools it may call.',
      to: '/agents?new=1',
      act: 'Make one',
      needs: 'agents:write',
      done: agents.data?.some((a) => a.owner !== 'local:demo') ?? false,
    },
  ];
}
