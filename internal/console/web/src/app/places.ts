import type { Scope } from './may';

export interface Place {
  path: string;
  name: string;
  about: string;
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
  { path: '/calls', name: 'Calls', about: 'What happens, as it happens', needs: 'audit:read' },
  { path: '/usage', name: 'Usage', about: 'Sums by tool, agent and day', needs: 'audit:read' },
  { path: '/audit', name: 'Audit', about: 'What happened, with what was said', needs: 'audit:read' },
  { path: '/settings', name: 'Settings', about: 'People, keys, limits, secrets' },
];
