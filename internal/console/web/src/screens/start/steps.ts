import { useQuery } from '@tanstack/react-query';
import { type Agent, get, type ListedServer, type Page, type Schemas } from '../../api/client';
import { useMe } from '../../api/data';
import { useFeed } from '../../api/feed';
import { useFirst } from '../../api/lists';
import { can, type Scope } from '../../app/permissions';

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
// really happened; undefined until that is known. With live, a call counts at once.
export function useFirstSteps(live = false): FirstStep[] | undefined {
  const me = useMe().data;
  const audits = can(me, 'audit:read');
  const feed = useFeed(live && audits);
  const reads = can(me, 'tools:read');
  const builtin = useFirst<ListedServer>('/servers', { mode: 'builtin' }, 20, reads);
  const newest = useFirst<ListedServer>('/servers', { sort: '-created_at' }, 20, reads);
  const agents = useFirst<Agent>('/agents', { sort: '-created_at' }, 20, reads);
  // What happened before the newest calls, too.
  const entryPoints = useQuery({
    queryKey: ['usage', 'entry_point', 'ever'],
    queryFn: ({ signal }) => get<Page<Schemas['Usage']>>('/usage?by=entry_point', signal),
    select: (p) => p.items,
    enabled: audits,
    refetchInterval: 5_000,
  });
  if (!me || !builtin.data || !newest.data || (audits && ((live && !feed.loaded) || entryPoints.isPending))) return undefined;
  const hasDemo = builtin.data.items.some((s) => s.id === 'demo');
  const worked = (entryPoints.data ?? []).some((d) => d.calls > d.errors + d.refused);
  const call: FirstStep = {
    key: 'call',
    name: 'Call a tool',
    text: hasDemo ? 'The built-in server “demo” needs no setup.' : 'Try a tool of one of your servers.',
    to: hasDemo ? '/playground?name=demo__add' : '/playground',
    act: 'Open the playground',
    needs: 'tools:call',
    done: worked || feed.calls.some((c) => c.kind === 'tool' && c.status === 'success'),
  };
  const others: FirstStep[] = [
    {
      key: 'server',
      name: 'Add a server',
      text: 'From a URL, a command or an mcp.json.',
      to: '/servers/add',
      act: 'Add one',
      needs: 'servers:write',
      done: newest.data.items.some((s) => s.mode !== 'builtin' && s.owner !== 'local:demo'), // the demo's own are nobody's doing
    },
    {
      key: 'client',
      name: 'Connect your client',
      text: 'Claude, Cursor, VS Code and others, with one command or with a key and a URL.',
      to: '/settings?tab=connect',
      act: 'Show how',
      done:
        (entryPoints.data ?? []).some((d) => clients.includes(d.entry_point ?? '')) ||
        feed.calls.some((c) => clients.includes(c.entry_point)),
    },
    {
      key: 'agent',
      name: 'Create an agent',
      text: 'With a name, a role and its allowed tools.',
      to: '/agents?new=1',
      act: 'Create one',
      needs: 'agents:write',
      done: agents.data?.items.some((a) => a.owner !== 'local:demo') ?? false,
    },
  ];
  // Without the demonstration, a server comes first: there is no tool to call.
  return hasDemo ? [call, ...others] : [...others.slice(0, 1), call, ...others.slice(1)];
}
