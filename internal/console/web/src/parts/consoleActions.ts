// What the console offers in place of a command. Errors name commands, because programs and
// operators read them too; here the same can be done on a screen.

export interface ConsoleAction {
  name: string;
  to: string;
}

const at = (path: string) => (name: string) => (name ? `${path}/${encodeURIComponent(name)}` : path);

// The screens of the nouns of the command line, and of single objects of them.
const screens: Record<string, [name: string, to: (object: string) => string]> = {
  server: ['Servers', at('/servers')],
  tool: ['Tools', at('/tools')],
  agent: ['Agents', at('/agents')],
  key: ['Keys', () => '/settings?tab=keys'],
  user: ['Users', () => '/settings?tab=users'],
  role: ['Roles', () => '/settings?tab=roles'],
  limit: ['Limits', () => '/settings?tab=limits'],
  tenant: ['Tenants', () => '/settings?tab=tenants'],
  secret: ['Secrets', () => '/settings?tab=secrets'],
  model: ['Models', () => '/models'],
  room: ['Chat', () => '/chat'],
  app: ['Apps', () => '/apps'],
  pack: ['Gallery', () => '/gallery'],
  call: ['Calls', at('/calls')],
  event: ['Events', at('/events')],
  trigger: ['Triggers', at('/triggers')],
  policy: ['Policies', at('/policies')],
  source: ['Sources', () => '/sources'],
  schedule: ['Sources', () => '/sources'],
  delivery: ['Deliveries', at('/deliveries')],
  endpoint: ['Endpoints', () => '/endpoints'],
  chain: ['Chains', () => '/chains'],
  usage: ['Usage', () => '/usage'],
  audit: ['Audit', () => '/audit'],
  doctor: ['Instance', () => '/settings?tab=instance'],
  backup: ['Instance', () => '/settings?tab=instance'],
  settings: ['Instance', () => '/settings?tab=instance'],
};

// Commands that have a part of a screen of their own.
const special: Record<string, (object: string) => ConsoleAction> = {
  'server login': (s) => ({ name: s ? `Log in to ${s}` : 'Servers', to: s ? `/servers/${encodeURIComponent(s)}?tab=sign-in` : '/servers' }),
  'server add': () => ({ name: 'Add a server', to: '/servers/add' }),
  'server set': (s) => ({
    name: s ? `Settings of ${s}` : 'Servers',
    to: s ? `/servers/${encodeURIComponent(s)}?tab=settings` : '/servers',
  }),
  'server test': (s) => ({ name: s ? `Test ${s}` : 'Servers', to: s ? `/servers/${encodeURIComponent(s)}` : '/servers' }),
  'tool call': (t) => ({ name: 'Playground', to: t ? `/playground?name=${encodeURIComponent(t)}` : '/playground' }),
  'agent add': () => ({ name: 'Create an agent', to: '/agents?new=1' }),
  'agent token': () => ({ name: 'Endpoints', to: '/endpoints' }),
  'trigger add': () => ({ name: 'Triggers', to: '/triggers' }),
  'delivery replay': () => ({ name: 'Dead letters', to: '/dead' }),
};

// An object is written as a name; NAME and SERVER stand for one in advice.
const object = /^[a-z0-9][\w.-]*$/;

// consoleActions are the screens on which the commands of a text can be done, each once.
export function consoleActions(text: string): ConsoleAction[] {
  const found: ConsoleAction[] = [];
  for (const [, noun = '', verb = '', rest = ''] of text.matchAll(/\bjunctor ([a-z]+)(?: ([a-z]+))?(?: ([^\s;,)"'`]+))?/g)) {
    const named = object.test(rest) && !rest.startsWith('-') ? rest : '';
    const screen = screens[noun];
    const action =
      special[`${noun} ${verb}`]?.(named) ??
      (screen && { name: screen[0], to: verb === 'ls' ? screen[1]('') : screen[1](isObjectVerb(verb) ? named : '') });
    if (action && !found.some((a) => a.to === action.to)) found.push(action);
  }
  return found;
}

const isObjectVerb = (verb: string) => ['show', 'set', 'enable', 'disable', 'rm', 'changes'].includes(verb);
