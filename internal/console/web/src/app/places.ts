import type { Scope } from './may';

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
  { path: '/', name: 'Overview', about: 'How it is going' },
  { path: '/start', name: 'First steps', about: 'Call a tool, add a server, connect a client, make an agent', aside: true },
  { path: '/servers', name: 'Servers', about: 'Where tools come from', needs: 'tools:read' },
  { path: '/gallery', name: 'Gallery', about: 'Ready-made servers to add', needs: 'tools:read' },
  { path: '/tools', name: 'Tools', about: 'Everything that can be called' },
  { path: '/playground', name: 'Playground', about: 'Try a tool, a resource or a prompt' },
  { path: '/apps', name: 'Apps', about: 'Tools with a face of their own', needs: 'tools:read' },
  { path: '/agents', name: 'Agents', about: 'Who may use what', needs: 'tools:read' },
  { path: '/models', name: 'Models', about: 'What agents think with', needs: 'agents:write' },
  { path: '/chat', name: 'Chat', about: 'Rooms of people and agents', needs: 'tools:call' },
  { path: '/calls', name: 'Calls', about: 'What happens, as it happens', needs: 'audit:read' },
  { path: '/usage', name: 'Usage', about: 'Sums by tool, agent and day', needs: 'audit:read' },
  { path: '/audit', name: 'Audit', about: 'What happened, with what was said', needs: 'audit:read' },
  { path: '/events', group: 'Events', name: 'All events', about: 'What happened elsewhere', needs: 'audit:read' },
  { path: '/triggers', group: 'Events', name: 'Triggers', about: 'What follows from an event', needs: 'audit:read' },
  { path: '/sources', group: 'Events', name: 'Sources', about: 'Where events come from, and schedules', needs: 'audit:read' },
  { path: '/deliveries', group: 'Events', name: 'Deliveries', about: 'The calls that events led to', needs: 'audit:read' },
  { path: '/dead', group: 'Events', name: 'Dead letters', about: 'Deliveries that were given up', needs: 'audit:read' },
  { path: '/endpoints', group: 'Events', name: 'Endpoints', about: 'Where deliveries go, and what is left alone', needs: 'audit:read' },
  { path: '/chains', group: 'Events', name: 'Chains', about: 'Registries of agents that are followed', needs: 'audit:read' },
  { path: '/chain-agents', group: 'Events', name: 'Agents on chains', about: 'What was found of them', needs: 'audit:read' },
  { path: '/settings', name: 'Settings', about: 'People, keys, limits, secrets' },
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
