// Real Apps in the official host library: AppBridge in a plain page. The page has
// no key: what its Apps ask for goes through a client of the official library in
// this process, to the gateway's own endpoint.
// node apps_official.mjs URL KEY "SERVER…" MODULES
import assert from 'node:assert/strict';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { chromium } from 'playwright-core';
import { launch } from './apps_host.mjs';

const [url, key, servers, modules] = process.argv.slice(2);
const { root } = JSON.parse(modules);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);

const ui = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
async function connect(path) {
  const client = new Client({ name: 'plain-host', version: '1' }, { capabilities: ui, versionNegotiation: { mode: 'legacy' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url + path), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }));
  return client;
}

// The host's page takes the library as it is, module by module.
const html = `<!doctype html><meta charset="utf-8"><title>host</title><body><div id="root"></div>
<script type="importmap">{"imports":{"@modelcontextprotocol/ext-apps/app-bridge":"/m/@modelcontextprotocol/ext-apps/dist/src/app-bridge.js"}}</script>
<script type="module">
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
window.show = async (tool, page, args) => {
  const seen = [];
  const frame = document.createElement('iframe');
  frame.style.cssText = 'width:900px;height:600px';
  frame.setAttribute('sandbox', 'allow-scripts');
  document.getElementById('root').replaceChildren(frame);
  const bridge = new AppBridge(null, { name: 'plain', version: '1' }, { openLinks: {}, serverTools: {}, serverResources: {}, logging: {}, message: { text: {} }, updateModelContext: { text: {} } },
    { hostContext: { theme: 'light', displayMode: 'inline', availableDisplayModes: ['inline'], platform: 'web', locale: 'en-US', timeZone: 'UTC', containerDimensions: { width: 900, maxHeight: 2000 }, toolInfo: { tool } } });
  const say = (what) => async (p) => { seen.push(what); return {}; };
  bridge.onopenlink = say('open-link'); bridge.onmessage = say('message'); bridge.onupdatemodelcontext = say('context');
  bridge.onloggingmessage = say('log'); bridge.onsizechange = (p) => { seen.push('size'); if (p.height) frame.style.height = p.height + 'px'; };
  bridge.onrequestdisplaymode = async () => ({ mode: 'inline' });
  bridge.oncalltool = async (p) => { seen.push('call'); return window.ask('tools/call', p); };
  bridge.onreadresource = async (p) => { seen.push('read'); return window.ask('resources/read', p); };
  const ready = new Promise((done) => { bridge.oninitialized = done; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = page;
  await ready;
  seen.push('initialized');
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(await window.open_call(args));
  seen.push('result');
  window.bridge = bridge; window.seen = seen;
  return { app: bridge.getAppVersion(), capabilities: bridge.getAppCapabilities() };
};
window.loaded = true;
</script>`;
const types = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json' };

// What a module imports by name is found where Node finds it.
const imports = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'./][^"']*)\2/g;
async function transform(text) {
  const names = new Set([...text.matchAll(imports)].map((m) => m[3]));
  const to = new Map();
  for (const name of names) {
    try {
      const at = import.meta.resolve(name);
      to.set(name, at.startsWith('file:') ? `/m/${decodeURIComponent(new URL(at).pathname).split('/node_modules/').at(-1)}` : name);
    } catch {
      // it stays: text in a program that only looks like an import
    }
  }
  return text.replace(imports, (all, before, q, name) => (to.has(name) ? `${before}${q}${to.get(name)}${q}` : all));
}

const host = createServer(async (req, res) => {
  const { pathname } = new URL(req.url, 'http://x');
  if (pathname === '/') return res.setHeader('Content-Type', 'text/html').end(html);
  const file = join(root, normalize(decodeURIComponent(pathname.replace(/^\/m\//, ''))));
  if (!pathname.startsWith('/m/') || !file.startsWith(root) || !existsSync(file) || !statSync(file).isFile()) return res.writeHead(404).end();
  res.setHeader('Content-Type', types[extname(file)] ?? 'application/octet-stream');
  let text = '';
  for await (const part of createReadStream(file, 'utf8')) text += part;
  res.end(await transform(text));
});
await new Promise((done) => host.listen(0, '127.0.0.1', done));

const browser = await chromium.launch(launch);
const page = await browser.newPage();
page.setDefaultTimeout(90_000);
const all = await connect('/mcp');
const { tools } = await all.listTools();
let own;
let opening;
await page.exposeFunction('ask', async (method, params) => own.request({ method, params }, anything));
await page.exposeFunction('open_call', async (args) => all.callTool({ name: opening, arguments: args }));
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
const back = { 'basic-vanillajs': 'Get Server Time', 'basic-react': 'Get Server Time' };
const byItself = ['system-monitor', 'cohort-heatmap', 'customer-segmentation'];

for (const server of servers.split(' ')) {
  const tool = tools.find((t) => t.name.startsWith(`${server}__`) && t._meta?.ui?.resourceUri && (t._meta.ui.visibility ?? ['model']).includes('model'));
  assert.ok(tool, `${server} shows no tool with an App`);
  const uri = tool._meta.ui.resourceUri;
  assert.ok(uri.startsWith(`ui://${server}/`), `${uri} is not under its server's name`);
  assert.equal(tool._meta['ui/resourceUri'] ?? uri, uri, 'both keys name the same page');
  const read = await all.readResource({ uri });
  assert.equal(read.contents[0].uri, uri);
  own = await connect(`/mcp/s/${server}`);
  opening = tool.name;
  await page.goto(`http://127.0.0.1:${host.address().port}/`);
  await page.waitForFunction(() => window.loaded);
  const shown = await page.evaluate(([t, html, args]) => window.show(t, html, args), [tool, read.contents[0].text, {}]);
  await page.waitForFunction(() => window.seen.includes('size'));
  if (back[server]) await page.frameLocator('iframe').getByRole('button', { name: back[server] }).first().click();
  if (back[server] || byItself.includes(server)) await page.waitForFunction(() => window.seen.includes('call'));
  // It answers the farewell; one that does not know it says so.
  await page.evaluate(() =>
    window.bridge.teardownResource({}).catch((e) => {
      if (!/Method not found/.test(e.message)) throw e;
    }),
  );
  await own.close();
  step(`walked ${server}: ${shown.app?.name}`);
}
await all.close();
await browser.close();
host.close();
