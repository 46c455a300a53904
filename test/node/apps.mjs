// Real Apps in the console.
// node apps.mjs walk LINK "APP…" CESIUM | capabilities LINK | states LINK CONTROL | context LINK | bare LINK CONTROL | times LINK
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { frameOf, launch, lines, opened, serveCesium, watchMessages } from './apps_host.mjs';
import { signIn } from './browser.mjs';

const [what, link, ...rest] = process.argv.slice(2);
const origin = new URL(link).origin;
const browser = await chromium.launch(launch);
const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, reducedMotion: 'reduce', acceptDownloads: true });
const page = await context.newPage();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const faults = [];
// An App that is told to end takes its parts away, and its own timers may find them
// gone (the map's do): that is its fault, not that of the page which hosts it.
let ending = false;
page.on('pageerror', (e) => {
  const where = e.stack ?? e.message;
  if (!ending || where.includes(`${origin}/`)) faults.push(where);
});
await watchMessages(page);
await signIn(page, link);

// answerTo is what the host answered a request of a View with.
async function answerTo(view, method) {
  for (const end = Date.now() + 60_000; Date.now() < end; await page.waitForTimeout(50)) {
    const asked = lines(page).find((m) => m.view === view && m.to === 'host' && m.method === method);
    const answer = asked && lines(page).find((m) => m.view === view && m.to === 'view' && !m.method && m.id === asked.id);
    if (answer) return answer;
  }
  throw new Error(`${method} is not answered`);
}

const labels = {
  openLinks: 'Open links',
  downloadFile: 'Save files',
  serverTools: 'Call tools of its server',
  serverResources: 'Read resources of its server',
  message: 'Send messages in your name',
  updateModelContext: 'Update the model context',
};

const call = async () => page.getByRole('button', { name: 'Run', exact: true }).click();

// What each App is: its tool, and how it calls back.
const apps = {
  'basic-vanillajs': { tool: 'get-time', back: (f) => f.getByRole('button', { name: 'Get Server Time' }).press('Enter'), asks: 'tools/call' },
  'basic-react': { tool: 'get-time', back: (f) => f.getByRole('button', { name: 'Get Server Time' }).press('Enter'), asks: 'tools/call' },
  debug: { tool: 'debug-tool', back: (f) => f.locator('#update-context-text-btn').press('Enter'), asks: 'ui/update-model-context' },
  'system-monitor': { tool: 'get-system-info', asks: 'tools/call', itself: true }, // its button would stop it
  'budget-allocator': { tool: 'get-budget-data', own: true },
  'cohort-heatmap': { tool: 'get-cohort-data', back: (f) => f.locator('select, button').first().click(), asks: 'tools/call', itself: true },
  'customer-segmentation': { tool: 'get-customer-data', asks: 'tools/call', itself: true },
  'scenario-modeler': { tool: 'get-scenario-data' },
  shadertoy: { tool: 'render-shadertoy', own: true },
  transcript: { tool: 'transcribe', permissions: true },
  threejs: { tool: 'show_threejs_scene', compatible: true },
  map: { tool: 'show-map', compatible: true, cesium: true, own: true },
};

async function walk(name) {
  const a = apps[name];
  if (a.cesium) await serveCesium(context, rest[1]);
  const full = `${name}__${a.tool}`;
  await opened(page, origin, full, a.compatible ? 'any' : 'ready');
  if (a.compatible) {
    await page.getByRole('tab', { name: 'Policy' }).click();
    await page.getByRole('button', { name: 'Approve this page for eval' }).click();
    await page.getByText('Compatible policy').first().waitFor();
    await page.getByRole('tab', { name: 'Messages' }).click();
  }
  const before = lines(page).length;
  const opens = page.waitForResponse((r) => r.request().method() === 'POST' && new URL(r.url()).pathname === '/api/v1/views');
  await call();
  const at = await (await opens).json();
  await page.locator('.view[data-state=ready]').waitFor();
  const frame = await frameOf(page, at.id);
  const heard = async (method, to, after = before) => {
    for (const end = Date.now() + 90_000; Date.now() < end; await page.waitForTimeout(50)) {
      const found = lines(page).slice(after).find((m) => m.view === at.id && m.to === to && m.method === method);
      if (found) return found;
    }
    throw new Error(`${name}: ${method} was not said to the ${to}`);
  };
  await heard('ui/initialize', 'host');
  await heard('ui/notifications/tool-input', 'view');
  await heard('ui/notifications/tool-result', 'view');
  await heard('ui/notifications/size-changed', 'host');
  const size = lines(page).findLast((m) => m.view === at.id && m.method === 'ui/notifications/size-changed');
  const order = lines(page).filter((m) => m.view === at.id && m.to === 'view' && m.method?.startsWith('ui/notifications/tool-')).map((m) => m.method.split('/').at(-1));
  assert.deepEqual(order, ['tool-input', 'tool-result'], `${name}: input once, then the result`);
  if (a.asks) {
    const then = lines(page).length;
    if (!a.itself) await a.back(frame);
    await heard(a.asks, 'host', a.itself ? before : then);
  }
  if (a.own) {
    await page.getByRole('tab', { name: /^Tools of the App \d/ }).click();
    await page.getByRole('button', { name: /^Call / }).first().waitFor();
    await page.getByRole('tab', { name: 'Messages' }).click();
  }
  const height = await page.locator('.view-box').evaluate((e) => e.clientHeight);
  assert.ok(size.params.height === undefined || Math.abs(height - Math.min(4000, Math.max(40, Math.ceil(size.params.height)))) <= 1 || lines(page).at(-1) !== size, `${name}: ${height} px where it wants ${size.params.height}`);
  // The farewell is a request that the View answers before it goes.
  ending = true;
  await page.getByRole('button', { name: 'Close the App' }).click();
  const farewell = await heard('ui/resource-teardown', 'view');
  for (const end = Date.now() + 60_000; !lines(page).some((m) => m.view === at.id && m.to === 'host' && m.id === farewell.id && !m.method); await page.waitForTimeout(50))
    if (Date.now() > end) throw new Error(`${name}: the farewell is not answered`);
  await page.getByText('The App is closed.').waitFor();
  ending = false;
  step(`walked ${name}`);
}

const does = {
  async walk() {
    for (const name of rest[0].split(' ')) await walk(name);
  },

  // How long it takes from a tool's result until its View has begun, and whether
  // twenty of them let each other live. The last line printed is the figures.
  async times() {
    const name = 'basic-vanillajs__get-time';
    const waits = [];
    for (let i = 0; i < 9; i++) {
      await page.goto(`${origin}/playground?name=${name}`);
      const results = page.waitForResponse((r) => new URL(r.url()).pathname === '/api/v1/run');
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await (await results).finished();
      const at = Date.now();
      await page.locator('.view[data-state=ready]').waitFor();
      if (i > 0) waits.push(Date.now() - at); // the first fetches what the browser keeps
    }
    waits.sort((a, b) => a - b);
    step(`from the result to a View that has begun: ${waits.join(' ')} ms`);
    // Twenty in one page: that of the gallery, with an App that was used.
    const pages = [];
    const begin = Date.now();
    for (let i = 0; i < 20; i++) {
      const p = await context.newPage();
      p.setDefaultTimeout(120_000);
      await p.goto(`${origin}/apps/${name}`);
      pages.push(p);
    }
    for (const p of pages) await p.locator('.view[data-state=ready]').waitFor();
    const all = Date.now() - begin;
    const answers = [];
    for (const p of pages) {
      await p.bringToFront();
      const view = p.frames().find((f) => f.url().includes('//a-'));
      const at = Date.now();
      const answered = p.waitForResponse((r) => r.url().endsWith('/rpc'));
      await view.getByRole('button', { name: 'Get Server Time' }).click();
      await answered;
      answers.push(Date.now() - at);
    }
    answers.sort((a, b) => a - b);
    for (const p of pages) await p.close();
    await page.bringToFront();
    console.log(JSON.stringify({ median: waits[Math.floor(waits.length / 2)], all, click: answers[10], slowest: answers.at(-1) }));
  },

  // Every capability: what is announced works, what is switched off is neither
  // announced nor done.
  async capabilities() {
    const { id, frame } = await opened(page, origin, 'debug__debug-tool');
    const { result } = await answerTo(id, 'ui/initialize');
    const caps = result.hostCapabilities;
    assert.deepEqual(Object.keys(caps).sort(), ['downloadFile', 'logging', 'message', 'openLinks', 'sandbox', 'serverResources', 'serverTools', 'updateModelContext']);
    assert.deepEqual(caps.sandbox.permissions, {});
    for (const kind of ['text', 'image', 'audio', 'resource', 'resourceLink']) assert.ok(caps.message[kind] && caps.updateModelContext[kind], kind);
    const ask = (method, params) =>
      frame.evaluate(
        ([m, p]) =>
          new Promise((done) => {
            const n = `t${Math.random()}`;
            addEventListener('message', function on(e) {
              if (e.data?.id !== n) return;
              removeEventListener('message', on);
              done(e.data);
            });
            parent.postMessage({ jsonrpc: '2.0', id: n, method: m, params: p }, '*');
          }),
        [method, params],
      );
    const says = async (method, params) => {
      const a = await ask(method, params);
      assert.ok(a.result && !a.result.isError, `${method}: ${JSON.stringify(a)}`);
      return a.result;
    };
    step('serverTools, serverResources');
    assert.ok((await says('tools/list', {})).tools.some((t) => t.name === 'debug-refresh'), 'its app-only tools are listed');
    await says('tools/call', { name: 'debug-refresh', arguments: {} });
    assert.ok((await says('resources/list', {})).resources.length > 0);
    assert.ok((await says('resources/read', { uri: (await says('resources/list', {})).resources[0].uri })).contents.length > 0);
    assert.ok(Array.isArray((await says('resources/templates/list', {})).resourceTemplates));
    await ask('prompts/list', {}); // the server has none; it is answered
    step('message, updateModelContext');
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const blocks = [
      { type: 'text', text: 'a word of the App' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'audio', data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///note.txt', text: 'a note of the App', mimeType: 'text/plain' } },
      { type: 'resource_link', uri: 'https://example.com/doc', name: 'a link of the App' },
    ];
    await says('ui/message', { role: 'user', content: blocks });
    await says('ui/message', { role: 'user', content: { type: 'text', text: 'one block alone' } });
    await says('ui/update-model-context', { content: blocks.slice(0, 1) });
    await says('ui/update-model-context', { content: [{ type: 'text', text: 'the last counts' }], structuredContent: { count: 7 } });
    await page.getByRole('tab', { name: /^To the model/ }).click();
    for (const text of ['a word of the App', 'a note of the App', 'a link of the App', 'one block alone', 'the last counts']) await page.getByText(text).first().waitFor();
    assert.equal(await page.getByText('a word of the App').count(), 1, 'an earlier context is forgotten');
    assert.ok((await ask('ui/message', { role: 'user', content: [{ type: 'video' }] })).result.isError, 'what cannot be shown is refused');
    step('openLinks');
    const going = ask('ui/open-link', { url: 'http://127.0.0.1:9/somewhere?x=1' });
    await page.getByText('http://127.0.0.1:9/somewhere?x=1').waitFor();
    assert.ok((await ask('ui/open-link', { url: 'http://127.0.0.1:9/second' })).result.isError, 'one question at a time');
    await page.getByRole('button', { name: 'Stay here' }).click();
    assert.ok((await going).result.isError);
    const [popup, gone] = await Promise.all([
      context.waitForEvent('page'),
      ask('ui/open-link', { url: `${origin}/healthz` }),
      page.getByRole('button', { name: 'Open in a new tab' }).click(),
    ]);
    assert.deepEqual(gone.result, {});
    assert.equal(await popup.evaluate(() => window.opener), null);
    await popup.close();
    await page.bringToFront();
    step('downloadFile');
    const [download, saved] = await Promise.all([
      page.waitForEvent('download'),
      ask('ui/download-file', { contents: [{ type: 'resource', resource: { uri: 'file:///../../evil/%2e%2e%2freport.csv', mimeType: 'text/csv', text: 'a,b\n' } }] }),
      page.getByRole('button', { name: 'Save', exact: true }).last().click(),
    ]);
    assert.deepEqual(saved.result, {});
    assert.equal(download.suggestedFilename(), 'report.csv');
    assert.equal(readFileSync(await download.path(), 'utf8'), 'a,b\n');
    const kept = ask('ui/download-file', { contents: [{ type: 'resource', resource: { uri: 'file:///no.txt', text: 'x' } }] });
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.ok((await kept).result.isError);
    step('logging');
    await frame.evaluate(() => parent.postMessage({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'a line of the App' } }, '*'));
    await page.getByRole('tab', { name: 'Messages' }).click();
    await page.getByText('notifications/message').first().click();
    await page.getByText('a line of the App').first().waitFor();
    step('what is not announced');
    for (const method of ['sampling/createMessage', 'elicitation/create', 'roots/list', 'logging/setLevel', 'tasks/list', 'x/y'])
      assert.equal((await ask(method, {})).error?.code, -32601, method);
    assert.deepEqual((await ask('ping', {})).result, {});
    // Each is switched off: not announced, and refused.
    const tries = {
      openLinks: ['ui/open-link', { url: 'https://example.com/' }],
      downloadFile: ['ui/download-file', { contents: [] }],
      serverTools: ['tools/call', { name: 'debug-refresh', arguments: {} }],
      serverResources: ['resources/list', {}],
      message: ['ui/message', { role: 'user', content: blocks.slice(0, 1) }],
      updateModelContext: ['ui/update-model-context', { content: [] }],
    };
    await page.getByRole('tab', { name: 'Capabilities' }).click();
    for (const [name, [method, params]] of Object.entries(tries)) {
      const next = page.waitForResponse((r) => r.request().method() === 'POST' && new URL(r.url()).pathname === '/api/v1/views');
      // By key: the App above it still takes its size, and a click may miss what moves.
      await page.getByRole('switch', { name: labels[name] }).press('Space');
      const view = await (await next).json();
      await page.locator('.view[data-state=ready]').waitFor();
      const { result: again } = await answerTo(view.id, 'ui/initialize');
      assert.equal(again.hostCapabilities[name], undefined, `${name} is announced`);
      const f = await frameOf(page, view.id);
      const refused = await f.evaluate(
        ([m, p]) =>
          new Promise((done) => {
            addEventListener('message', (e) => e.data?.id === 'off' && done(e.data));
            parent.postMessage({ jsonrpc: '2.0', id: 'off', method: m, params: p }, '*');
          }),
        [method, params],
      );
      assert.equal(refused.error?.code, -32601, `${method} without ${name}`);
    }
    step('permissions are asked for');
    const asks = await opened(page, origin, 'transcript__transcribe');
    assert.deepEqual((await answerTo(asks.id, 'ui/initialize')).result.hostCapabilities.sandbox.permissions, {});
    const allows = (f) => f.evaluate(() => document.featurePolicy.allowsFeature('microphone'));
    assert.equal(await allows(asks.frame), false);
    const next = page.waitForResponse((r) => r.request().method() === 'POST' && new URL(r.url()).pathname === '/api/v1/views');
    await page.getByRole('button', { name: 'Allow and reload' }).click();
    const view = await (await next).json();
    await page.locator('.view[data-state=ready]').waitFor();
    assert.equal(await allows(await frameOf(page, view.id)), true);
    assert.ok((await answerTo(view.id, 'ui/initialize')).result.hostCapabilities.sandbox.permissions.microphone);
    step('done');
  },

  // What a person sees of Apps that do not work.
  async states() {
    const control = rest[0];
    const other = await context.newPage();
    other.setDefaultTimeout(90_000);
    await other.goto(`${origin}/apps/states__mute`);
    await other.getByRole('button', { name: 'Run', exact: true }).click();
    const silent = Date.now();
    await page.bringToFront();

    step('a border where one is wished, and none where it is not');
    await opened(page, origin, 'states__plain');
    assert.equal(await page.locator('.view.plain').count(), 1);
    const { frame } = await opened(page, origin, 'states__loops');
    assert.equal(await page.locator('.view.plain').count(), 0);

    step('an App that hangs leaves the console alone');
    await page.waitForTimeout(5000); // it has answered once by then: only who answered before is missed
    await frame.evaluate(() => setTimeout(() => document.getElementById('go').click(), 10));
    await page.getByText('The App does not answer').waitFor();
    await page.getByRole('tab', { name: 'Policy' }).click();
    await page.getByText('https://states.example').waitFor();
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await page.locator('.view[data-state=ready]').waitFor();

    step('a server that is gone');
    const asks = await opened(page, origin, 'states__asks');
    await asks.frame.getByRole('button', { name: 'Go' }).press('Enter');
    await asks.frame.getByText('said without an App: asks').waitFor();
    await fetch(`${control}/die`);
    await asks.frame.getByRole('button', { name: 'Go' }).press('Enter');
    await page.getByText('The server could not complete a request of the App').waitFor();
    await fetch(`${control}/live`);

    step('a page that is another than was approved');
    await opened(page, origin, 'states__changes');
    await page.getByRole('tab', { name: 'Policy' }).click();
    await page.getByRole('button', { name: 'Approve this page for eval' }).click();
    await page.getByText('Compatible policy').first().waitFor();
    await page.locator('.view[data-state=ready]').waitFor();
    await fetch(`${control}/change`);
    for (const end = Date.now() + 90_000; ; await page.waitForTimeout(500)) {
      await opened(page, origin, 'states__changes');
      if (await page.getByText('The page has changed since it was approved').count()) break;
      if (Date.now() > end) throw new Error('nobody is told that the page has changed');
    }
    await page.getByRole('tab', { name: 'Policy' }).click();
    await page.getByText('page changed').waitFor();

    step('an App that never begins');
    await other.bringToFront();
    await other.getByText('The App did not start').first().waitFor();
    assert.ok(Date.now() - silent >= 29_000);
    await other.getByText('said without an App: mute').first().waitFor();
    await other.getByRole('button', { name: 'Try again' }).click();
    await other.locator('.view[data-state=starting]').waitFor();
    step('never begins');
    await other.close();
    await page.bringToFront();
  },

  async context() {
    const { id, frame } = await opened(page, origin, 'states__plain');
    const first = (await answerTo(id, 'ui/initialize')).result;
    assert.equal(first.protocolVersion, '2026-01-26');
    assert.equal(first.hostInfo.name, 'Junctor');
    const c = first.hostContext;
    const here = await page.evaluate(() => ({
      locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      hover: matchMedia('(any-hover: hover)').matches,
      touch: matchMedia('(any-pointer: coarse)').matches,
      width: document.querySelector('.view-box').clientWidth,
    }));
    assert.equal(c.locale, here.locale);
    assert.equal(c.timeZone, here.timeZone);
    assert.deepEqual(c.deviceCapabilities, { touch: here.touch, hover: here.hover });
    assert.equal(c.platform, 'web');
    assert.match(c.userAgent, /^Junctor\//);
    assert.equal(c.theme, 'light');
    assert.equal(c.displayMode, 'inline');
    assert.deepEqual(c.availableDisplayModes, ['inline', 'fullscreen', 'pip']);
    assert.deepEqual(c.containerDimensions, { width: here.width, maxHeight: 4000 });
    assert.deepEqual(c.safeAreaInsets, { top: 0, right: 0, bottom: 0, left: 0 });
    assert.equal(c.toolInfo.tool.name, 'plain');
    assert.equal(Object.keys(c.styles.variables).length, 76);
    for (const [name, value] of Object.entries(c.styles.variables)) assert.ok(value, `${name} has no value`);
    await frame.evaluate(() => (window.kept = 'state')); // it is lost where the frame is loaded anew

    // What the View hears, as a whole, is what holds.
    const now = { ...c };
    let at = 0;
    const told = async (why, holds) => {
      for (const end = Date.now() + 60_000; ; await page.waitForTimeout(50)) {
        const all = lines(page).filter((m) => m.view === id && m.to === 'view' && m.method === 'ui/notifications/host-context-changed');
        for (; at < all.length; at++) Object.assign(now, all[at].params);
        if (holds(now)) return step(why);
        if (Date.now() > end) throw new Error(`${why}: ${JSON.stringify({ ...now, styles: undefined, toolInfo: undefined })}`);
      }
    };
    await page.emulateMedia({ colorScheme: 'dark' });
    await told('dark colours of the system', (x) => x.theme === 'dark' && x.styles.variables['--color-text-primary'] !== c.styles.variables['--color-text-primary']);
    assert.equal(await frame.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches), true, 'the page sees the same');
    await page.emulateMedia({ colorScheme: 'light' });
    await told('light again', (x) => x.theme === 'light');
    const group = (name) => page.getByRole('radiogroup', { name });
    await group('Theme').getByText('Dark').click();
    await told('dark by the switch', (x) => x.theme === 'dark');
    await group('Theme').getByText('Default').click();
    await group('Device').getByText('Phone').click();
    await told('a phone', (x) => x.platform === 'mobile' && x.deviceCapabilities.touch && !x.deviceCapabilities.hover && x.safeAreaInsets.top > 0 && x.containerDimensions.width <= 390);
    await group('Device').getByText('Default').click();
    await page.getByRole('combobox', { name: 'Language' }).selectOption('ja-JP');
    await page.getByRole('combobox', { name: 'Time zone' }).selectOption('Asia/Tokyo');
    await told('language and time zone', (x) => x.locale === 'ja-JP' && x.timeZone === 'Asia/Tokyo' && x.platform === 'web');
    await page.setViewportSize({ width: 1100, height: 800 });
    await told('another width', (x) => x.containerDimensions.width < here.width);
    // The modes: by the View's wish and by the person's, without a new page.
    const mode = (m) => frame.evaluate((w) => ask('ui/request-display-mode', { mode: w }), m);
    assert.equal((await mode('fullscreen')).result.mode, 'fullscreen');
    await told('over the whole window', (x) => x.displayMode === 'fullscreen' && x.containerDimensions.width === 1100 && x.containerDimensions.height > 600);
    await page.getByRole('button', { name: 'Picture in picture' }).click();
    await told('in a corner', (x) => x.displayMode === 'pip' && x.containerDimensions.width < 500 && x.containerDimensions.height < 400);
    await page.getByRole('button', { name: 'Exit full screen' }).click();
    await told('back', (x) => x.displayMode === 'inline' && x.containerDimensions.height === undefined);
    assert.equal((await mode('sideways')).result.mode, 'inline');
    assert.equal(await frame.evaluate(() => window.kept), 'state', 'the page was never loaded anew');
  },

  // An App without an origin: on a bare address, where Views have no names.
  async bare() {
    const { id, view, frame } = await opened(page, origin, 'states__asks');
    assert.equal(view.isolation, 'opaque');
    assert.equal(view.origin, 'null');
    await page.locator('.view').getByText('runs without an origin').waitFor();
    step('it is said on screen');
    assert.equal(await frame.evaluate(() => window.origin), 'null');
    const tried = await frame.evaluate(() =>
      [() => localStorage.setItem('a', 'b'), () => document.cookie, () => parent.document.title, () => top.document.title].map((f) => {
        try {
          f();
          return 'done';
        } catch (e) {
          return e.name;
        }
      }),
    );
    assert.deepEqual(tried, ['SecurityError', 'SecurityError', 'SecurityError', 'SecurityError']);
    step('it keeps and reaches nothing');
    await frame.evaluate(() => {
      window.news = [];
      addEventListener('message', (e) => e.data.method && window.news.push(e.data.method));
    });
    await frame.locator('#go').dispatchEvent('click'); // a key goes to the frame that the browser has focused, which may be late here
    await frame.locator('#text', { hasText: 'said without an App: asks' }).waitFor();
    step('it calls its server');
    assert.ok((await fetch(`${rest[0]}/change`)).ok);
    for (const end = Date.now() + 90_000; !(await frame.evaluate(() => window.news)).includes('notifications/resources/list_changed'); await page.waitForTimeout(50))
      assert.ok(Date.now() < end, 'it is not told that its server changed');
    step('it hears that its server changed');
    const own = await page.evaluate(async (v) => (await fetch(`/api/v1/views/${v}/tools`)).json(), id);
    assert.deepEqual(own.items, []);
    step('it is asked for its own tools, through Go and back');
  },
};

await does[what]();
assert.deepEqual(faults, []);
await browser.close();
