// Every screen and tab of the console, by its address, once there is something
// to be seen on it.
export const screens = {
  start: '/start',
  overview: '/',
  servers: '/servers',
  'add-url': '/servers/add',
  'add-command': '/servers/add?how=command',
  'add-json': '/servers/add?how=mcp.json',
  server: '/servers/everything',
  'server-resources': '/servers/everything?tab=resources',
  'server-prompts': '/servers/everything?tab=prompts',
  'server-diagnostics': '/servers/everything?tab=diagnostics',
  'server-settings': '/servers/everything?tab=settings',
  'server-sign-in': '/servers/lazy?tab=sign-in',
  gallery: '/gallery',
  'gallery-files': '/gallery/filesystem',
  'gallery-github': '/gallery/github',
  'gallery-file': '/gallery/file',
  tools: '/tools',
  'tools-changed': '/tools?tab=changed',
  tool: '/tools/demo__add',
  'tool-roles': '/tools/demo__add?tab=roles',
  playground: '/playground?name=demo__add',
  'playground-resource': '/playground?kind=resource&server=everything',
  'playground-prompt': '/playground?kind=prompt&server=demo&name=greet',
  agents: '/agents',
  'agent-new': '/agents?new=1',
  agent: '/agents/helper',
  'agent-list': '/agents/helper?tab=list',
  'agent-keys': '/agents/helper?tab=keys',
  'agent-limits': '/agents/helper?tab=limits',
  'agent-usage': '/agents/helper?tab=usage',
  calls: '/calls',
  call: '/calls/NEWEST',
  usage: '/usage',
  'usage-error': '/usage?by=error',
  audit: '/audit',
  settings: '/settings',
  connect: '/settings?tab=connect',
  keys: '/settings?tab=keys',
  people: '/settings?tab=people',
  limits: '/settings?tab=limits',
  secrets: '/settings?tab=secrets',
  files: '/settings?tab=files',
  egress: '/settings?tab=egress',
  instance: '/settings?tab=instance',
};

// addresses puts the newest call's id where one is wanted.
export async function addresses(page) {
  const id = await page.evaluate(async () => (await (await fetch('/api/v1/calls?limit=50')).json()).items.find((c) => c.server === 'everything')?.id);
  return Object.fromEntries(Object.entries(screens).map(([name, path]) => [name, path.replace('NEWEST', id ?? 'none')]));
}
