// The bridge of package mcpapps and the official host's side (AppBridge) talk
// with one another: node bridge.mjs BRIDGE.JS. The bridge runs in a window that
// has what it needs and no more; all messages are copied, as a browser does.
// What both sides saw goes to stdout as one JSON object; the Go test judges it.
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import { AppBridge } from '@modelcontextprotocol/ext-apps/app-bridge';

const host = {}; // what the host heard
const page = { css: {}, answers: {}, refused: {} }; // what the page heard and did

// The window of the page.
let hear;
const parent = {
  postMessage: message => {
    const copy = structuredClone(message);
    queueMicrotask(() => transport.onmessage?.(copy));
  },
};
const window = vm.createContext({
  parent,
  addEventListener: (_, listener) => (hear = listener),
  ResizeObserver: class {
    constructor(told) {
      this.told = told;
    }
    observe() {
      queueMicrotask(this.told);
    }
  },
  document: {
    documentElement: {
      dataset: {},
      style: { setProperty: (name, value) => (page.css[name] = value) },
      getBoundingClientRect: () => ({ height: 320.5 }),
    },
    head: { appendChild: element => ((page.fonts = element), element) },
    createElement: () => ({}),
    getElementById: () => null,
  },
});
vm.runInContext(readFileSync(process.argv[2], 'utf8'), window);

const transport = {
  async start() {},
  async close() {},
  async send(message) {
    // The frame around the page is its only host; this one lies.
    hear({ source: {}, data: { ...structuredClone(message), params: { reason: 'forged', arguments: { forged: true } } } });
    hear({ source: parent, data: structuredClone(message) });
  },
};

// Each is settled when the other side has been heard.
const told = {};
const waits = {};
for (const name of ['initialized', 'size', 'input', 'partial', 'result', 'cancelled', 'log', 'close', 'dark']) {
  waits[name] = new Promise(resolve => (told[name] = resolve));
}

const capabilities = {
  openLinks: {},
  downloadFile: {},
  logging: {},
  serverTools: {},
  serverResources: {},
  message: { text: {} },
  updateModelContext: { text: {}, structuredContent: {} },
};
const bridge = new AppBridge(null, { name: 'official', version: '2' }, capabilities, {
  hostContext: { theme: 'light', styles: { variables: { '--font-sans': 'Inter' }, css: { fonts: '@font-face {}' } }, displayMode: 'inline' },
});
bridge.oninitialized = () => told.initialized();
bridge.onsizechange = params => told.size((host.size = params));
bridge.onloggingmessage = params => told.log((host.log = params));
bridge.onrequestteardown = () => told.close();
bridge.onopenlink = async ({ url }) => ((host.link = url), url.includes('bad') ? { isError: true } : {});
bridge.ondownloadfile = async ({ contents }) => ((host.files = contents), {});
bridge.onmessage = async params => ((host.message = params), {});
bridge.onupdatemodelcontext = async params => ((host.context = params), {});
bridge.onrequestdisplaymode = async ({ mode }) => ({ mode });
bridge.oncalltool = async ({ name, arguments: args }) => {
  if (name !== 'refresh') throw new Error(`no tool ${name}`);
  return { content: [{ type: 'text', text: 'fresh' }], structuredContent: args };
};
bridge.onreadresource = async ({ uri }) => ({ contents: [{ uri, text: 'read' }] });
await bridge.connect(transport);

const mcpApp = vm.runInContext('mcpApp', window);
const app = mcpApp(
  { name: 'page', version: '1' },
  {
    input: args => told.input((page.input = args)),
    partial: args => told.partial((page.partial = args)),
    result: result => told.result((page.result = result)),
    cancelled: why => told.cancelled((page.cancelled = why)),
    context: context => {
      page.context = context;
      if (context.theme === 'dark') told.dark();
    },
    teardown: async () => (page.teardown = true),
    modes: ['inline', 'fullscreen'],
    tools: {
      move: { description: 'Moves.', inputSchema: { type: 'object' }, run: args => ({ moved: args.to }) },
      fall: {
        run: () => {
          throw new Error('it fell');
        },
      },
    },
  },
);
page.host = await app.connect();
await waits.initialized;
host.info = bridge.getAppVersion();
host.capabilities = bridge.getAppCapabilities();
await bridge.sendToolInputPartial({ arguments: { city: 'Be' } });
await bridge.sendToolInput({ arguments: { city: 'Bern' } });
await bridge.sendToolResult({ content: [{ type: 'text', text: '20' }], structuredContent: { degrees: 20 } });
await bridge.sendToolCancelled({ reason: 'stopped' });
await Promise.all([waits.size, waits.partial, waits.input, waits.result, waits.cancelled]);
page.answers.call = await app.call('refresh', { n: 1 });
page.answers.read = await app.read('data://a');
page.answers.mode = await app.mode('fullscreen');
page.answers.open = await app.open('https://example.com');
await app.download({ type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'a' } });
await app.message('hello');
await app.context('picked 7', { picked: 7 });
app.log('info', 'ready');
await waits.log;
for (const [name, act] of Object.entries({ link: () => app.open('https://bad.example'), tool: () => app.call('none'), method: () => app.request('ui/none') })) {
  page.refused[name] = await act().then(
    () => '',
    e => e.message,
  );
}
await bridge.sendHostContextChange({ theme: 'dark' });
await waits.dark;
host.tools = (await bridge.listTools({})).tools;
host.move = await bridge.callTool({ name: 'move', arguments: { to: 'e4' } });
host.fall = await bridge.callTool({ name: 'fall', arguments: {} });
host.none = await bridge.callTool({ name: 'none', arguments: {} }).then(
  () => '',
  e => e.message,
);
app.close();
await waits.close;
host.teardown = await bridge.teardownResource({});
process.stdout.write(JSON.stringify({ host, page }) + '\n');
process.exit(0);
