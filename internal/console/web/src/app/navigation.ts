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
  ShieldCheck,
  SlidersHorizontal,
  UsersRound,
  Waypoints,
  Webhook,
  Wrench,
  Zap,
} from 'lucide-react';
import type { AttentionItem } from '../api/attention';
import type { Scope } from './permissions';

export interface Place {
  path: string;
  name: string;
  about: string;
  icon: LucideIcon;
  docs: string; // its page below /docs/
  key?: string; // opens it after g; each letter once
  group?: string; // the menu shows places of a group together, under its name
  needs?: Scope;
  aside?: boolean; // the search finds it, but the menu does not show it
  within?: string; // the path of the place that stands for it in the menu
  chains?: boolean; // shown if a chain is configured
}

// places are the screens, in the order of the menu.
export const places: Place[] = [
  {
    path: '/',
    name: 'Overview',
    icon: LayoutDashboard,
    about: 'Health, traffic and errors of the last minutes',
    docs: 'guides/console#find-the-right-screen',
    key: 'o',
  },
  {
    path: '/start',
    name: 'First steps',
    icon: Rocket,
    about: 'Call a tool, add a server, connect a client, create an agent',
    aside: true,
    docs: 'start/',
    key: 'f',
  },
  {
    path: '/attention',
    name: 'Needs attention',
    icon: BellRing,
    about: 'Problems and open approvals, and what to do',
    needs: 'audit:read',
    docs: 'operate/attention',
    key: 'n',
  },
  {
    path: '/servers',
    group: 'Connect',
    name: 'Servers',
    icon: Server,
    about: 'Where tools come from',
    needs: 'tools:read',
    docs: 'guides/servers',
    key: 's',
  },
  {
    path: '/gallery',
    group: 'Connect',
    name: 'Gallery',
    icon: LayoutGrid,
    about: 'Ready-made servers to add',
    needs: 'tools:read',
    docs: 'guides/packs',
    key: 'g',
  },
  {
    path: '/tools',
    group: 'Connect',
    name: 'Tools',
    icon: Wrench,
    about: 'All tools that you can call',
    docs: 'guides/agents#find-tools-by-role',
    key: 't',
  },
  {
    path: '/apps',
    group: 'Connect',
    name: 'Apps',
    icon: AppWindow,
    about: 'Tools that bring their own page',
    needs: 'tools:read',
    docs: 'guides/apps',
    key: 'p',
  },
  {
    path: '/agents',
    group: 'Agents',
    name: 'Agents',
    icon: Bot,
    about: 'Identities with a role and allowed tools',
    needs: 'tools:read',
    docs: 'guides/agents',
    key: 'a',
  },
  {
    path: '/models',
    group: 'Agents',
    name: 'Models',
    icon: BrainCircuit,
    about: 'Language models that agents answer with',
    needs: 'agents:write',
    docs: 'guides/chat#an-agent-with-a-model',
    key: 'm',
  },
  {
    path: '/chat',
    group: 'Agents',
    name: 'Chat',
    icon: MessagesSquare,
    about: 'Rooms where people and agents talk',
    needs: 'tools:call',
    docs: 'guides/rooms',
    key: 'h',
  },
  {
    path: '/events',
    group: 'Events',
    name: 'Events',
    icon: Zap,
    about: 'Events that sources sent',
    needs: 'audit:read',
    docs: 'guides/events',
    key: 'e',
  },
  {
    path: '/triggers',
    group: 'Events',
    name: 'Triggers',
    icon: SlidersHorizontal,
    about: 'Rules that turn events into tool calls',
    needs: 'audit:read',
    docs: 'guides/events#choose-which-events-a-trigger-matches',
    key: 'r',
  },
  {
    path: '/sources',
    group: 'Events',
    name: 'Sources',
    icon: Webhook,
    about: 'Where events come from, and schedules',
    needs: 'audit:read',
    docs: 'guides/events#where-events-come-from',
    key: 'w',
  },
  {
    path: '/deliveries',
    group: 'Events',
    name: 'Deliveries',
    icon: Send,
    about: 'Tool calls for events, with their attempts',
    needs: 'audit:read',
    docs: 'guides/deliveries',
    key: 'd',
  },
  {
    path: '/dead',
    name: 'Dead letters',
    icon: MailX,
    about: 'Deliveries that failed permanently',
    needs: 'audit:read',
    aside: true,
    within: '/deliveries',
    docs: 'guides/deliveries#find-and-replay-a-failed-delivery',
    key: 'l',
  },
  {
    path: '/endpoints',
    group: 'Events',
    name: 'Endpoints',
    icon: Waypoints,
    about: 'Where deliveries go, and their breakers',
    needs: 'audit:read',
    docs: 'guides/deliveries#pause-a-failing-endpoint',
    key: 'k',
  },
  {
    path: '/chains',
    group: 'Chains',
    name: 'Chains',
    icon: Link2,
    about: 'Agent registries that Junctor follows',
    needs: 'audit:read',
    chains: true,
    docs: 'guides/chains',
  },
  {
    path: '/chain-agents',
    group: 'Chains',
    name: 'Discovered agents',
    icon: Radar,
    about: 'Agents that registries on chains announced',
    needs: 'audit:read',
    chains: true,
    docs: 'guides/chains#finding-the-agent',
  },
  {
    path: '/policies',
    group: 'Control',
    name: 'Policies',
    icon: ShieldCheck,
    about: 'Rules that decide about calls and results',
    needs: 'audit:read',
    docs: 'guides/policy',
    key: 'i',
  },
  {
    path: '/calls',
    group: 'Observe',
    name: 'Calls',
    icon: ArrowLeftRight,
    about: 'Calls as they are made',
    needs: 'audit:read',
    docs: 'operate/observe',
    key: 'c',
  },
  {
    path: '/usage',
    group: 'Observe',
    name: 'Usage',
    icon: ChartColumn,
    about: 'Totals by tool, agent and day',
    needs: 'audit:read',
    docs: 'operate/observe',
    key: 'u',
  },
  {
    path: '/audit',
    group: 'Observe',
    name: 'Audit',
    icon: ScrollText,
    about: 'All records and all changes, with request and response',
    needs: 'audit:read',
    docs: 'operate/audit',
    key: 'j',
  },
  {
    path: '/playground',
    name: 'Playground',
    icon: FlaskConical,
    about: 'Try a tool, a resource or a prompt',
    needs: 'tools:call',
    docs: 'guides/console#find-the-right-screen',
    key: 'y',
  },
  {
    path: '/users',
    name: 'Users',
    icon: UsersRound,
    about: 'Accounts with their role, sessions and keys',
    needs: 'admin',
    aside: true,
    within: '/settings',
    docs: 'guides/console#manage-users-and-keys',
  },
  {
    path: '/keys',
    name: 'Keys',
    icon: KeyRound,
    about: 'Keys of users, agents and services',
    needs: 'keys:write',
    aside: true,
    within: '/settings',
    docs: 'guides/console#manage-users-and-keys',
  },
  { path: '/settings', name: 'Settings', icon: Settings, about: 'Users, keys, limits, secrets', docs: 'guides/console', key: 'x' },
];

// attentionAt is the place in whose part of the console an item that needs attention is solved,
// by the kind of the item.
export const attentionAt: Readonly<Record<AttentionItem['kind'], string>> = {
  approval: '/chat',
  certificate: '/settings',
  check: '/attention',
  delivery: '/deliveries',
  disk: '/settings',
  endpoint: '/endpoints',
  journal: '/audit',
  key: '/settings',
  policy: '/policies',
  redis: '/settings',
  replica: '/settings',
  server: '/servers',
  settings: '/settings',
  tools: '/tools',
};

// isAt reports whether an address belongs to a place.
export const isAt = (location: string, path: string): boolean =>
  path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`);

// placeOf is the place that an address belongs to.
export const placeOf = (location: string): Place | undefined => places.find((p) => isAt(location, p.path));

// deeper are pages of the documentation for a part of a place: a path below it, or a tab.
const deeper: { at: string; docs: string }[] = [
  { at: '/servers/add', docs: 'guides/servers#add-a-server' },
  { at: '/settings?tab=connect', docs: 'guides/servers#connect-one-client' },
  { at: '/settings?tab=keys', docs: 'operate/access#keys' },
  { at: '/settings?tab=users', docs: 'operate/access#users-and-their-roles' },
  { at: '/settings?tab=limits', docs: 'operate/access#limits' },
  { at: '/settings?tab=secrets', docs: 'operate/backup#store-secrets' },
  { at: '/settings?tab=files', docs: 'guides/servers#export-and-apply' },
  { at: '/settings?tab=egress', docs: 'reference/settings#outgoing-connections' },
  { at: '/settings?tab=instance', docs: 'reference/settings' },
];

// docsOf is the address of the page of the documentation that fits an address. An address
// without a page of its own has that of the console.
export function docsOf(location: string, search = ''): string {
  const tab = new URLSearchParams(search).get('tab');
  const here = tab ? `${location}?tab=${tab}` : location;
  const docs = (deeper.find((d) => d.at === here || d.at === location) ?? placeOf(location))?.docs;
  return `/docs/${docs ?? 'guides/console'}`;
}

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
