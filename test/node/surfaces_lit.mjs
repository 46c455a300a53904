// The official renderer of A2UI, in a plain page, draws what the bank shows:
// node surfaces_lit.mjs '{"url","key","modules","shots"}'. It takes the messages
// of v0.9 from the events of a run. Components beyond the basic catalog are
// registered under their own names, as any client would do it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join, normalize } from 'node:path';
import { open } from './browser.mjs';

const { url, key, modules, shots } = JSON.parse(process.argv[2]);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);

// What the bank shows, by question.
const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
const ask = async (path, body) => {
  const r = await fetch(`${url}/api/v1${path}`, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
  assert.ok(r.ok, `${path}: ${r.status}`);
  return r;
};
async function shown(room, text, agent = 'bank') {
  const r = await ask(`/rooms/${room}/runs`, { threadId: room, runId: crypto.randomUUID(), messages: [{ id: crypto.randomUUID(), role: 'user', content: text }], forwardedProps: { agent } });
  const events = (await r.text())
    .split('\n\n')
    .flatMap((e) => e.split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5)))
    .map((d) => JSON.parse(d));
  return events.filter((e) => e.type === 'ACTIVITY_SNAPSHOT' && e.activityType === 'a2ui-surface').map((e) => e.content);
}
const questions = {
  transaction_location: 'Where was my Tesco transaction?',
  account_overview: 'What accounts do I have?',
  account_detail: 'Show the details of my current account',
  credit_card_statement: 'Show my credit card',
  mortgage_summary: 'Tell me about my mortgage',
  savings_summary: 'How are my savings?',
  transaction_list: 'My latest transactions',
};
const { items } = await (await ask('/rooms')).json();
const lobby = items.find((r) => r.name === 'Lobby').id;
const surfaces = {};
for (const [template, text] of Object.entries(questions)) {
  const [one] = await shown(lobby, text);
  assert.ok(one?.surface.id.startsWith(template), `${text}: ${one?.surface.id} is no ${template}`);
  surfaces[template] = one;
}
// The map of the demonstration has no App, so another agent names that template.
const apart = await (await ask('/rooms', { name: 'Apart', members: [{ agent: 'odd' }] })).json();
[surfaces.transaction_app] = await shown(apart.id, 'The App of the map', 'odd');
step(`${Object.keys(surfaces).length} templates`);

// A module is served as it is, with the names in it resolved as Node would.
function resolve(name, from) {
  if (name.startsWith('.')) return normalize(join(dirname(from), name));
  const [, pack, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name);
  let dir = dirname(from);
  while (!existsSync(join(dir, 'node_modules', pack, 'package.json'))) {
    if (dir === dirname(dir)) return undefined;
    dir = dirname(dir);
  }
  const root = join(dir, 'node_modules', pack);
  const { exports, module, main } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const wanted = `.${rest ?? ''}`;
  const choose = (v) => (typeof v === 'string' || !v ? v : choose(['browser', 'import', 'module', 'default'].map((c) => v[c]).find(Boolean)));
  if (exports && typeof exports === 'object') {
    if (exports[wanted]) return join(root, choose(exports[wanted]));
    for (const [pattern, to] of Object.entries(exports)) {
      const [head, tail] = pattern.split('*');
      if (tail !== undefined && wanted.startsWith(head) && wanted.endsWith(tail)) return join(root, choose(to).replace('*', wanted.slice(head.length, wanted.length - tail.length)));
    }
    if (wanted === '.' && !Object.keys(exports)[0].startsWith('.')) return join(root, choose(exports));
  }
  return join(root, rest ?? module ?? main ?? 'index.js');
}
const entry = join(modules, '@a2ui', 'web_core', 'page.js'); // it shares the renderer's own zod
const page_js = `
import { html } from 'lit';
import { MessageProcessor, Catalog, CommonSchemas } from '@a2ui/web_core/v0_9';
import { basicCatalog, A2uiLitElement } from '@a2ui/lit/v0_9';
import { z } from 'zod';
window.show = (messages, own) => {
  const components = [...basicCatalog.components.values()];
  for (const [name, properties] of Object.entries(own)) {
    const schema = z.object(Object.fromEntries(properties.map((p) => [p, (p === 'action' ? CommonSchemas.Action : p === 'toolInput' ? z.any() : CommonSchemas.DynamicValue).optional()])));
    const api = { name, schema };
    const tag = 'own-' + name.toLowerCase().replace(/[^a-z]/g, '-');
    if (!customElements.get(tag))
      customElements.define(tag, class extends A2uiLitElement {
        api = api;
        createRenderRoot() { return this; }
        render() { return html\`<pre class="own" data-name=\${name}>\${JSON.stringify(this.controller?.props ?? {}, (k, v) => (typeof v === 'function' ? undefined : v), 1)}</pre>\`; }
      });
    components.push({ ...api, tagName: tag });
  }
  const id = messages[0].createSurface.catalogId;
  const processor = new MessageProcessor([new Catalog(id, components, [...(basicCatalog.functions?.values?.() ?? [])])], (a) => window.actions.push(a));
  window.actions = [];
  document.body.replaceChildren();
  processor.onSurfaceCreated((surface) => {
    const el = document.createElement('a2ui-surface');
    el.surface = surface;
    document.body.append(el);
  });
  processor.processMessages(messages);
};
window.ready = true;`;
const served = new Map();
const server = createServer((req, res) => {
  const path = decodeURIComponent(new URL(req.url, 'http://x').pathname);
  if (path === '/') {
    res.setHeader('Content-Type', 'text/html');
    res.end('<!doctype html><html lang="en"><meta charset="utf-8"><title>A2UI</title><link rel="icon" href="data:,"><script type="module" src="/m/page.js"></script><body></body></html>');
    return;
  }
  const file = path === '/m/page.js' ? entry : path.slice(2);
  try {
    if (!served.has(file)) {
      const text = file === entry ? page_js : readFileSync(file, 'utf8');
      served.set(file, text.replace(/((?:from|import)\s*\(?\s*)(['"])([^'"\n]+)\2/g, (whole, before, quote, name) => {
        const found = resolve(name, file);
        return found ? `${before}${quote}/m${found}${quote}` : whole; // words in a comment
      }));
    }
    res.setHeader('Content-Type', file.endsWith('.json') ? 'application/json' : 'text/javascript');
    res.end(served.get(file));
  } catch (e) {
    console.log(`${file}: ${e.message}`);
    res.statusCode = 404;
    res.end();
  }
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));

const { browser, context, page, faults } = await open();
context.setDefaultTimeout(120_000);
try {
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(() => window.ready === true);
  step(`the renderer is there, in ${served.size} modules`);
  for (const [template, { surface, messages }] of Object.entries(surfaces)) {
    const basic = new Set(['Text', 'Icon', 'Row', 'Column', 'List', 'Card', 'Tabs', 'Modal', 'Divider', 'Button']);
    const own = {};
    for (const c of surface.components.filter((c) => !basic.has(c.component)))
      own[c.component] = [...new Set([...(own[c.component] ?? []), ...Object.keys(c).filter((k) => k !== 'id' && k !== 'component')])];
    await page.evaluate(([m, o]) => window.show(m, o), [messages, own]);
    // What stands for an App is drawn by who shows no App.
    const instead = new Set(surface.components.map((c) => c.fallback));
    const shown = new Set(surface.components.filter((c) => !instead.has(c.id)).map((c) => c.component));
    for (const name of Object.keys(own).filter((n) => shown.has(n))) await page.locator(`.own[data-name="${name}"]`).first().waitFor();
    // Bound data has arrived in the components.
    const drawn = () =>
      page.evaluate(() => {
        const read = (n) => {
          if (n.nodeType === Node.TEXT_NODE) return n.data;
          return n.nodeName === 'STYLE' ? '' : [...(n.shadowRoot ? [n.shadowRoot] : []), ...n.childNodes].map(read).join(' ');
        };
        return read(document.body);
      });
    const words = {
      transaction_location: [surface.data.transaction?.description, surface.data.location?.latitude, surface.data.location?.label],
      account_overview: surface.data.accounts?.map((a) => a.name),
      account_detail: [surface.data.account?.name],
      credit_card_statement: [surface.data.card?.name],
      mortgage_summary: [surface.data.mortgage?.address],
      savings_summary: surface.data.savings?.map((a) => a.name),
      transaction_app: [surface.data.transaction?.description, surface.data.others?.[0].date, 'ui://cesium-map/mcp-app.html', 'show-map', '1, High Street'],
      transaction_list: [surface.data.title, surface.data.transactions?.[0]?.description],
    }[template];
    assert.ok(words.length > 0 && words.every((w) => w !== undefined && w !== ''), `${template}: ${JSON.stringify(surface.data).slice(0, 300)}`);
    for (const w of words)
      for (const end = Date.now() + 90_000; !(await drawn()).includes(String(w)); await page.waitForTimeout(50)) if (Date.now() > end) throw new Error(`${template}: ${w} is not drawn:\n${await drawn()}`);
    if (shots) await page.screenshot({ path: `${shots}/lit-${template}.png` });
    step(`${template}: ${surface.components.length} components`);
    // A button tells of itself.
    if (template === 'transaction_location') {
      await page.locator('button').first().click();
      await page.waitForFunction(() => window.actions.length === 1);
      const action = await page.evaluate(() => JSON.parse(JSON.stringify(window.actions[0])));
      assert.equal((action.action ?? action).name, 'show_transaction');
      step('its button tells of itself');
    }
  }
  // It would have a renderer for Markdown, and shows the text without.
  assert.deepEqual(faults.filter((f) => !f.includes('MarkdownDirective')), []);
} catch (e) {
  console.log(`${served.size} modules were served; the page says: ${faults.join('\n')}`);
  throw e;
} finally {
  await browser.close();
  server.close();
}
