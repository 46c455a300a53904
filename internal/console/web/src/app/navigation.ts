import type { Scope } from './permissions';

export interface Place {
  path: string;
  name: string;
  about: string;
  group?: string; // those of a group stand together, under its name
  needs?: Scope;
  aside?: boolean; // it is found, but stands in no menu
}

// places are the screens, in the order of the data path.
export const places: Place[] = [
  { path: '/', name: 'Overview', about: 'Health, traffic and errors of the last minutes' },
  { path: '/start', name: 'First steps', about: 'Call a tool, add a server, connect a client, create an agent', aside: true },
  { path: '/servers', name: 'Servers', about: 'Where tools come from', needs: 'tools:read' },
  { path: '/gallery', name: 'Gallery', about: 'Ready-made servers to add', needs: 'tools:read' },
  { path: '/tools', name: 'Tools', about: 'All tools that you can call' },
  { path: '/playground', name: 'Playground', about: 'Try a tool, a resource or a prompt' },
  { path: '/apps', name: 'Apps', about: 'Tools that bring their own page', needs: 'tools:read' },
  { path: '/agents', name: 'Agents', about: 'Identities with a role and allowed tools', needs: 'tools:read' },
  { path: '/models', name: 'Models', about: 'Language models that agents answer with', needs: 'agents:write' },
  { path: '/chat', name: 'Chat', about: 'Rooms where people and agents talk', needs: 'tools:call' },
  { path: '/calls', name: 'Calls', about: 'Calls as they are made', needs: 'audit:read' },
  { path: '/usage', name: 'Usage', about: 'Totals by tool, agent and day', needs: 'audit:read' },
  { path: '/audit', name: 'Audit', about: 'All records, with request and response', needs: 'audit:read' },
  { path: '/events', group: 'Events', name: 'All events', about: 'Events that sources sent', needs: 'audit:read' },
  { path: '/triggers', group: 'Events', name: 'Triggers', about: 'Rules that turn events into tool calls', needs: 'audit:read' },
  { path: '/sources', group: 'Events', name: 'Sources', about: 'Where events come from, and schedules', needs: 'audit:read' },
  { path: '/deliveries', group: 'Events', name: 'Deliveries', about: 'Tool calls for events, with their attempts', needs: 'audit:read' },
  { path: '/dead', group: 'Events', name: 'Dead letters', about: 'Deliveries that failed for good', needs: 'audit:read' },
  { path: '/endpoints', group: 'Events', name: 'Endpoints', about: 'Where deliveries go, and their breakers', needs: 'audit:read' },
  { path: '/chains', group: 'Events', name: 'Chains', about: 'Agent registries that Junctor follows', needs: 'audit:read' },
  {
    path: '/chain-agents',
    group: 'Events',
    name: 'Discovered agents',
    about: 'Agents that registries on chains announced',
    needs: 'audit:read',
  },
  { path: '/settings', name: 'Settings', about: 'Users, keys, limits, secrets' },
];

// grouped puts neighbours of one group together.
export function grouped(list: readonly Place[]): [string, Place[]][] {
  const out: [string, Place[]][] = [];
  for (const p of list) {
    const last = out.at(-1);
    if (last && last[0] === (p.group ?? '')) last[1].push(p);
    else out.push([p.group ?? '', [p]]);
  }
  return out;
}
