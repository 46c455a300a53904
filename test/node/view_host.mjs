// A small host of MCP Apps in a browser: the View in a sandboxed frame under the
// strictest policy, its requests answered here.
import assert from 'node:assert/strict';

const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; form-action 'none'; base-uri 'self'; object-src 'none'";

// The page of the host: it passes messages on, and knows the View's frame alone.
const outer = `<!doctype html><title>Host</title><style>body{margin:0}iframe{border:0;width:100%;height:2000px;display:block}</style>
<iframe sandbox="allow-scripts allow-forms" src="http://view.test/"></iframe>
<script>
const frame = document.querySelector('iframe');
window.heard = [];
window.say = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
addEventListener('message', async (e) => {
  if (e.source !== frame.contentWindow) { heard.push({ method: 'stranger' }); return; }
  heard.push(e.data);
  if (e.data.method === 'ui/notifications/size-changed') frame.style.height = Math.ceil(e.data.params.height) + 'px';
  if (e.data.id === undefined) { window.note(e.data.method); return; }
  const answer = await window.answer(e.data.method, e.data.params);
  say({ id: e.data.id, ...answer });
});
</script>`;

// host shows a View. answers has what the View's requests are answered with, by
// method: a function of params. It gives the frame, and how to send.
export async function host(page, { html, tool, args, result, answers = {}, context = {} }) {
  const asked = [];
  const leaked = [];
  let ready;
  const initialized = new Promise((resolve) => {
    ready = resolve;
  });
  await page.exposeFunction('note', (method) => {
    if (method === 'ui/notifications/initialized') ready();
  });
  await page.exposeFunction('answer', async (method, params) => {
    asked.push({ method, params });
    if (method === 'ui/initialize') {
      assert.equal(params.protocolVersion, '2026-01-26');
      return { result: { protocolVersion: '2026-01-26', hostInfo: { name: 'test', version: '1' }, hostCapabilities: { openLinks: {}, serverTools: {} }, hostContext: { theme: 'light', locale: 'en-US', timeZone: 'UTC', displayMode: 'inline', toolInfo: { tool }, ...context } } };
    }
    try {
      if (answers[method]) return { result: await answers[method](params) };
    } catch (e) {
      return { error: { code: -32000, message: e.message } };
    }
    return { error: { code: -32601, message: `${method} is not here` } };
  });
  await page.route('**/*', (route) => {
    const url = route.request().url();
    if (url === 'http://host.test/') return route.fulfill({ contentType: 'text/html', body: outer });
    if (url === 'http://view.test/') return route.fulfill({ contentType: 'text/html; charset=utf-8', headers: { 'Content-Security-Policy': policy }, body: html });
    leaked.push(url);
    return route.abort();
  });
  await page.goto('http://host.test/');
  await initialized;
  const frame = page.frame({ url: 'http://view.test/' });
  const say = (method, params) => page.evaluate(([m, p]) => window.say({ method: m, params: p }), [method, params]);
  const show = async (a, r) => {
    await say('ui/notifications/tool-input', { arguments: a });
    await say('ui/notifications/tool-result', r);
  };
  if (result) await show(args ?? {}, result);
  return { frame, say, show, asked, leaked };
}
