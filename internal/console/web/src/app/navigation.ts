import {
  AppWindow,
  ArrowLeftRight,
  BellRing,
  Bot,
  BrainCircuit,
  ChartColumn,
  FlaskConical,
  KeyRound,
  LayoutDashboard,
  LayoutGrid,
  Link2,
  type LucideIcon,
  MailX,
  MessagesSquare,
  Radar,
  Rocket,
  ScrollText,
  Send,
  Server,
  Settings,
  SlidersHorizontal,
  UsersRound,
  Waypoints,
  Webhook,
  Wrench,
  Zap,
} from 'lucide-react';
import type { Scope } from './permissions';

export interface Place {
  path: string;
  name: string;
  about: string;
  icon: LucideIcon;
  group?: string; // the menu shows places of a group together, under its name
  needs?: Scope;
  aside?: boolean; // the search finds it, but the menu does not show it
  within?: string; // the path of the place that stands for it in the menu
  chains?: boolean; // shown if a chain is configured
}

// places are the screens, in the order of the menu.
export const places: Place[] = [
  { path: '/', name: 'Overview', icon: LayoutDashboard, about: 'Health, traffic and errors of the last minutes' },
  { path: '/start', name: 'First steps', icon: Rocket, about: 'Call a tool, add a server, connect a client, create an agent', aside: true },
  {
    path: '/attention',
    name: 'Needs attention',
    icon: BellRing,
    about: 'Problems and open approvals, and what to do',
    needs: 'audit:read',
  },
  { path: '/servers', group: 'Connect', name: 'Servers', icon: Server, about: 'Where tools come from', needs: 'tools:read' },
  { path: '/gallery', group: 'Connect', name: 'Gallery', icon: LayoutGrid, about: 'Ready-made servers to add', needs: 'tools:read' },
  { path: '/tools', group: 'Connect', name: 'Tools', icon: Wrench, about: 'All tools that you can call' },
  { path: '/apps', group: 'Connect', name: 'Apps', icon: AppWindow, about: 'Tools that bring their own page', needs: 'tools:read' },
  { path: '/agents', group: 'Agents', name: 'Agents', icon: Bot, about: 'Identities with a role and allowed tools', needs: 'tools:read' },
  {
    path: '/models',
    group: 'Agents',
    name: 'Models',
    icon: BrainCircuit,
    about: 'Language models that agents answer with',
    needs: 'agents:write',
  },
  { path: '/chat', group: 'Agents', name: 'Chat', icon: MessagesSquare, about: 'Rooms where people and agents talk', needs: 'tools:call' },
  { path: '/events', group: 'Events', name: 'Events', icon: Zap, about: 'Events that sources sent', needs: 'audit:read' },
  {
    path: '/triggers',
    group: 'Events',
    name: 'Triggers',
    icon: SlidersHorizontal,
    about: 'Rules that turn events into tool calls',
    needs: 'audit:read',
  },
  {
    path: '/sources',
    group: 'Events',
    name: 'Sources',
    icon: Webhook,
    about: 'Where events come from, and schedules',
    needs: 'audit:read',
  },
  {
    path: '/deliveries',
    group: 'Events',
    name: 'Deliveries',
    icon: Send,
    about: 'Tool calls for events, with their attempts',
    needs: 'audit:read',
  },
  {
    path: '/dead',
    name: 'Dead letters',
    icon: MailX,
    about: 'Deliveries that failed for good',
    needs: 'audit:read',
    aside: true,
    within: '/deliveries',
  },
  {
    path: '/endpoints',
    group: 'Events',
    name: 'Endpoints',
    icon: Waypoints,
    about: 'Where deliveries go, and their breakers',
    needs: 'audit:read',
  },
  {
    path: '/chains',
    group: 'Chains',
    name: 'Chains',
    icon: Link2,
    about: 'Agent registries that Junctor follows',
    needs: 'audit:read',
    chains: true,
  },
  {
    path: '/chain-agents',
    group: 'Chains',
    name: 'Discovered agents',
    icon: Radar,
    about: 'Agents that registries on chains announced',
    needs: 'audit:read',
    chains: true,
  },
  { path: '/calls', group: 'Observe', name: 'Calls', icon: ArrowLeftRight, about: 'Calls as they are made', needs: 'audit:read' },
  { path: '/usage', group: 'Observe', name: 'Usage', icon: ChartColumn, about: 'Totals by tool, agent and day', needs: 'audit:read' },
  {
    path: '/audit',
    group: 'Observe',
    name: 'Audit',
    icon: ScrollText,
    about: 'All records and all changes, with request and response',
    needs: 'audit:read',
  },
  { path: '/playground', name: 'Playground', icon: FlaskConical, about: 'Try a tool, a resource or a prompt', needs: 'tools:call' },
  {
    path: '/users',
    name: 'Users',
    icon: UsersRound,
    about: 'Accounts with their role, sessions and keys',
    needs: 'admin',
    aside: true,
    within: '/settings',
  },
  {
    path: '/keys',
    name: 'Keys',
    icon: KeyRound,
    about: 'Keys of users, agents and services',
    needs: 'keys:write',
    aside: true,
    within: '/settings',
  },
  { path: '/settings', name: 'Settings', icon: Settings, about: 'Users, keys, limits, secrets' },
];

// isAt reports whether an address belongs to a place.
export const isAt = (location: string, path: string): boolean =>
  path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`);

// placeOf is the place that an address belongs to.
export const placeOf = (location: string): Place | undefined => places.find((p) => isAt(location, p.path));

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
