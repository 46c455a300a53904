// Shows an App in a real browser, with the official code for hosts around it:
// node page.mjs SETTING, a JSON object
//   url, key   of an MCP server, to which the host is a client of the modern era
//   tool, args the call that the App is opened for
//   policy     the Content-Security-Policy of the page
//   calls      names of tools that the page must have called, all of them
//   until      a text that must come to stand in the page
//   press      a button to press then, and `after` what must stand there afterwards
//   shot       where a picture goes; none without
// The page's frame is another origin than the host's. What happened goes to
// stdout as one JSON object; the Go test judges it.
import { createServer } from 'node:http';
import { AppBridge } from '@modelcontextprotocol/ext-apps/app-bridge';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { open } from './browser.mjs';

const set = JSON.parse(process.argv[2]);
const LIMIT = 90_000;
const extension = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const client = new Client(
  { name: 'host', version: '1' },
  { capabilities: { extensions: extension }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
);
const headers = set.key ? { Authorization: `Bearer ${set.key}` } : {};
await client.connect(new StreamableHTTPClientTransport(new URL(set.url), { requestInit: { headers } }));

const tools = (await client.listTools()).tools;
const tool = tools.find(t => t.name === set.tool);
const contents = (await client.readResource({ uri: tool._meta.ui.resourceUri })).contents;
const result = await client.callTool({ name: set.tool, arguments: set.args });

// Two origins: the host's page, and the App's.
const serve = (type, text, policy) =>
  new Promise(resolve => {
    const server = createServer((request, response) => {
      if (request.url !== '/') return response.writeHead(404).end();
      response.writeHead(200, { 'Content-Type': type, ...(policy && { 'Content-Security-Policy': policy }) }).end(text);
    });
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
const port = server => server.address().port;
const app = await serve('text/html; charset=utf-8', contents[0].text, set.policy);
const host = await serve(
  'text/html; charset=utf-8',
  `<!doctype html><title>host</title><link rel="icon" href="data:,"><style>body{margin:0}iframe{border:0;width:100%}</style><iframe id="view" title="view"></iframe><script>
  const view = document.getElementById('view');
  addEventListener('message', e => { if (e.source === view.contentWindow) fromView(e.data); });
  </script>`,
);

const seen = { calls: [], sizes: 0, context: null };
const running = new Set(); // calls of the page that are not answered yet
const { browser, page, faults } = await open({ viewport: { width: 900, height: 800 } });
const transport = {
  async start() {},
  async close() {},
  // An answer to a page that is gone is nobody's.
  send: message =>
    page.evaluate(m => document.getElementById('view').contentWindow.postMessage(m, '*'), message).catch(e => {
      if (!page.isClosed()) throw e;
    }),
};
await page.exposeFunction('fromView', message => transport.onmessage?.(message));

const bridge = new AppBridge(
  null,
  { name: 'official', version: '2' },
  { serverTools: {}, updateModelContext: { text: {}, structuredContent: {} }, logging: {} },
  { hostContext: { theme: 'light', locale: 'en-GB', timeZone: 'UTC', displayMode: 'inline', styles: { variables: { '--font-sans': 'sans-serif' } } } },
);
const ready = new Promise(resolve => (bridge.oninitialized = resolve));
bridge.onsizechange = ({ height }) => {
  seen.sizes++;
  void page.evaluate(h => (document.getElementById('view').style.height = `${h}px`), height).catch(() => {});
};
bridge.onupdatemodelcontext = async params => ((seen.context = params), {});
bridge.oncalltool = async params => {
  seen.calls.push(params.name);
  const call = client.callTool(params);
  running.add(call);
  return call.finally(() => running.delete(call));
};
try {
  await bridge.connect(transport);
  await page.goto(`http://127.0.0.1:${port(host)}/`);
  await page.evaluate(src => (document.getElementById('view').src = src), `http://localhost:${port(app)}/`);
  await ready;
  await bridge.sendToolInput({ arguments: set.args });
  await bridge.sendToolResult(result);
  const view = page.frameLocator('#view');
  const stands = text => view.getByText(text).first().waitFor({ timeout: LIMIT });
  await stands(set.until);
  const end = Date.now() + LIMIT;
  while (!set.calls.every(name => seen.calls.includes(name)) && Date.now() < end) await new Promise(r => setTimeout(r, 50));
  if (set.press) {
    await view.getByRole('button', { name: set.press }).click({ timeout: LIMIT });
    await stands(set.after);
  }
  await bridge.sendHostContextChange({ theme: 'dark' });
  await view.locator('html[data-theme=dark]').waitFor({ timeout: LIMIT });
  if (set.shot) await page.screenshot({ path: set.shot, fullPage: true });
  seen.teardown = await bridge.teardownResource({});
  await Promise.all(running);
  seen.faults = faults;
  process.stdout.write(JSON.stringify(seen) + '\n');
} finally {
  await browser.close();
  app.closeAllConnections();
  host.closeAllConnections();
  app.close();
  host.close();
  await client.close();
}
