// What an operator does with the console: the menu, what needs attention, and who changed what.
// node operator_console.mjs menu LINK | attention LINK | history LINK
import assert from 'node:assert/strict';
import { accessible, open, signIn } from './browser.mjs';

const [what, link] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const heading = (name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
const menu = page.getByRole('navigation', { name: 'Screens' });

// api makes a request as the page does.
const api = (method, path, body) =>
  page.evaluate(
    async ([m, p, b]) => {
      const res = await fetch(`/api/v1${p}`, {
        method: m,
        headers: { 'Content-Type': 'application/json', 'X-Junctor-Console': '1' },
        body: b === undefined ? undefined : JSON.stringify(b),
      });
      if (!res.ok) throw new Error(`${m} ${p}: ${res.status} ${await res.text()}`);
      return res.status === 204 ? null : res.json();
    },
    [method, path, body],
  );

// look fails if a page keeps people out or is too wide, light and dark, wide and narrow.
async function look(name) {
  for (const [colorScheme, width] of [['dark', 390], ['light', 1440]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await page.waitForTimeout(200);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
    await accessible(page, `${name}, ${colorScheme}`);
  }
}

const tours = {
  async menu() {
    await signIn(page, link);
    step('groups, in order, and nothing cut off');
    await page.goto(origin);
    await heading('Overview');
    const names = await menu.getByRole('link').evaluateAll((all) => all.map((a) => a.querySelector('.cut').textContent));
    assert.deepEqual(names, [
      'Overview', 'Needs attention', 'Servers', 'Gallery', 'Tools', 'Apps', 'Agents', 'Models', 'Chat', 'Events', 'Triggers', 'Sources', 'Deliveries',
      'Endpoints', 'Policies', 'Calls', 'Usage', 'Audit', 'Playground', 'Settings',
    ]);
    assert.deepEqual(await menu.locator('.group-name').allTextContents(), ['Connect', 'Agents', 'Events', 'Control', 'Observe']);
    const cut = await page.evaluate(() => {
      const box = (e) => e.getBoundingClientRect();
      const bottom = box(document.querySelector('.rail .whoami')).top;
      return [...document.querySelectorAll('.rail nav a, .rail .whoami')].filter((e) => box(e).bottom > innerHeight || (e.tagName === 'A' && box(e).bottom > bottom)).length;
    });
    assert.equal(cut, 0, 'entries of the menu are cut off at 900 px');

    step('tabs of the browser are named after what they show');
    for (const [path, list] of [['/servers/demo', 'Servers · '], ['/tools/demo__echo', 'demo · '], ['/audit', ''], ['/dead', ''], ['/chat', ''], ['/settings', '']]) {
      await page.goto(origin + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const named = (end) => document.title === `${document.querySelector('h1').textContent} · ${end}`;
      await page.waitForFunction(named, `${list}Junctor`);
    }

    step('dead letters are a tab of the deliveries');
    await page.goto(`${origin}/deliveries`);
    await page.getByRole('navigation', { name: 'Deliveries' }).getByRole('link', { name: 'Dead letters' }).click();
    await heading('Dead letters');
    assert.equal(await menu.getByRole('link', { name: 'Deliveries' }).getAttribute('aria-current'), 'page');
    await look('dead letters');
    quiet('in the menu');

    step('a tool to try is still found when the server has answered');
    await page.keyboard.press('Control+k');
    const answer = page.waitForResponse((r) => new URL(r.url()).pathname === '/api/v1/tools' && /demo__echo$/.test(new URL(r.url()).searchParams.get('q') ?? ''));
    await page.getByRole('combobox', { name: 'Find' }).fill('try demo__echo');
    await answer;
    await page.waitForTimeout(300);
    assert.equal(await page.getByRole('option', { name: 'Try demo__echo' }).count(), 1);
    await page.keyboard.press('Escape');

    step('an unknown path has a page that says so');
    for (const path of ['/nothing/here', '/servers/a/b/c']) {
      const res = await page.goto(origin + path);
      assert.equal(res.status(), path === '/nothing/here' ? 404 : 200);
      await heading('Page not found');
      await page.getByText(path, { exact: true }).waitFor();
    }
    faults.splice(0, faults.length, ...faults.filter((f) => !/404/.test(f)));
    await look('an unknown path');
    await page.getByRole('link', { name: 'Go to Overview' }).click();
    await heading('Overview');

    step('on a phone, the menu is a drawer');
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await menu.filter({ visible: true }).count(), 0);
    await page.getByRole('button', { name: 'Open the menu' }).click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('link', { name: 'Triggers' }).waitFor();
    await accessible(page, 'the drawer');
    await drawer.getByRole('link', { name: 'Triggers' }).click();
    await heading('Triggers');
    await drawer.waitFor({ state: 'hidden' });
    quiet('on a phone');
  },

  async attention() {
    // A notification of the double says what it shows; the browser of the test has none.
    await page.addInitScript(() => {
      window.notified = [];
      window.asked = 0;
      window.Notification = class {
        static permission = 'default';
        static async requestPermission() {
          window.asked++;
          this.permission = 'granted';
          return 'granted';
        }
        constructor(title, options) {
          window.notified.push({ title, ...options });
        }
        close() {}
      };
    });
    await signIn(page, link);
    step('all is well, since everything is checked');
    await page.goto(`${origin}/attention`);
    await heading('Needs attention');
    const list = await api('GET', '/attention');
    assert.deepEqual([list.healthy, list.items], [true, []]);
    await page.getByText('All is well').waitFor();
    assert.equal(await menu.locator('.badge').count(), 0);
    await look('all is well');

    step('the browser asks for permission when the switch is turned on, and not before');
    assert.equal(await page.evaluate(() => window.asked), 0);
    await page.getByRole('switch', { name: 'Browser notifications' }).press('Space');
    await page.getByRole('switch', { name: 'Browser notifications', checked: true }).waitFor();
    assert.equal(await page.evaluate(() => window.asked), 1);

    step('a dead letter appears while the page is open');
    await api('POST', '/triggers', { name: 'broken', match: { type: 'order' }, action: { server: 'demo', tool: 'fail' } });
    await api('POST', '/events', { type: 'order', data: {} });
    const item = page.getByRole('list', { name: 'Items' }).getByRole('listitem').filter({ hasText: 'broken' });
    await item.getByText(/failed permanently/).waitFor();
    await item.getByText(/^junctor delivery ls/).waitFor();
    await item.locator('time').waitFor();
    const badge = (entry) => menu.getByRole('link', { name: entry }).locator('.badge').textContent();
    assert.deepEqual([await badge('Needs attention'), await badge('Deliveries')], ['1', '1']);
    assert.equal(await menu.locator('.badge').count(), 2);
    assert.equal(await page.getByText('All is well').count(), 0);
    const [shown] = await page.evaluate(() => window.notified);
    assert.equal(shown.title, 'broken');
    assert.match(shown.body, /failed permanently/);
    await look('what needs attention');

    step('filters narrow the list, and stay in the address');
    await page.getByRole('button', { name: /critical/ }).click();
    await page.waitForURL(/severity=critical/);
    await page.getByText('No item matches').waitFor();
    await page.getByRole('button', { name: /critical/ }).click();
    await page.getByLabel('Kind').selectOption('delivery');
    await item.waitFor();

    step('an item leads to its object');
    await item.getByRole('link', { name: 'Open dead letters' }).click();
    await heading('Dead letters');
    quiet('before the list fails');

    step('all is not well if the list cannot be read');
    await page.context().route('**/api/v1/attention?*', (r) => r.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify({ code: 'unavailable', status: 503, title: 'x', detail: 'not now' }) }));
    await page.context().route('**/api/v1/calls/tail*', (r) => r.abort());
    await page.goto(`${origin}/attention`);
    await page.getByText('The list cannot be read').waitFor();
    assert.equal(await page.getByText('All is well').count(), 0);
    faults.length = 0; // the browser notes the answers that fail
  },

  async history() {
    await signIn(page, link);
    await api('POST', '/agents', { name: 'clerk', role: 'QA', tools: ['demo/echo'] });
    await api('PATCH', '/agents/clerk', { title: 'The clerk', tools: ['demo/echo', 'demo/add'] });
    await api('POST', '/triggers', { name: 'hello', match: { type: 'greeting' }, action: { server: 'demo', tool: 'echo' } });
    await api('PATCH', '/triggers/hello', { disabled: true });
    const { id } = await api('POST', '/users', { name: 'uma', role: 'viewer' });
    await api('PATCH', `/users/${id}`, { role: 'developer' });
    await api('POST', '/keys', { name: 'ci', scopes: ['tools:read'] });
    const changes = page.getByRole('list', { name: 'Changes' });
    // row waits for a field with its values before and after.
    const row = (field, before, after) =>
      changes.getByRole('row').filter({ has: page.getByRole('rowheader', { name: field, exact: true }) }).filter({ hasText: before }).filter({ hasText: after }).first().waitFor();

    step('an agent: who changed it, when, from where, and each field');
    await page.goto(`${origin}/agents/clerk?tab=history`);
    await changes.getByText('Changed agent').waitFor();
    await changes.getByText('Created agent').waitFor();
    await row('title', '–', 'The clerk');
    await row('tools', 'demo/echo', 'demo/add');
    const first = changes.getByRole('listitem').first();
    await first.getByText('ada', { exact: true }).waitFor();
    await first.getByText('Console, 127.0.0.1').waitFor();
    await first.locator('time').waitFor();
    await look('the history of an agent');

    step('a server, a trigger, a user and a key');
    await page.goto(`${origin}/servers/demo`);
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('No recorded changes').waitFor();
    await page.goto(`${origin}/triggers/hello`);
    await page.getByRole('tab', { name: 'History' }).click();
    await row('disabled', '–', 'true');
    await page.goto(`${origin}/settings?tab=users`);
    await page.getByRole('link', { name: 'uma', exact: true }).click();
    await page.getByRole('tab', { name: 'History' }).click();
    await changes.getByText('Changed user').waitFor();
    await row('role', 'viewer', 'developer');
    await page.goto(`${origin}/settings?tab=keys`);
    await page.getByRole('link', { name: 'ci', exact: true }).click();
    await page.getByRole('tab', { name: 'History' }).click();
    await row('scopes', '–', 'tools:read');

    step('what has no page of its own, and the roles of a tool');
    await api('PUT', '/tools/demo__echo/tag', { roles: ['QA'] });
    await page.goto(`${origin}/tools/demo__echo`);
    await page.getByRole('tab', { name: 'History' }).click();
    await row('roles', '–', 'QA');
    await api('POST', '/models', { name: 'local', kind: 'openai', model: 'm', base_url: 'http://127.0.0.1:9/v1' });
    await api('POST', '/sources', { id: 'shop', style: 'github', secret: 'a-secret-of-many-letters' });
    await api('PUT', '/schedules/nightly', { cron: '@daily', type: 'tick' });
    await api('PUT', '/roles/Tester', {});
    await api('PATCH', '/limits', { tiers: { gold: { per_day: 7 } } });
    for (const [path, name, field, value] of [
      ['/models', 'local', 'base_url', '127.0.0.1:9'], ['/sources', 'shop', 'style', 'github'], ['/sources', 'nightly', 'cron', '@daily'],
      ['/settings?tab=roles', 'Tester', 'name', 'Tester'], ['/settings?tab=limits', 'limits', 'tiers.gold.per_day', '7'],
    ]) {
      await page.goto(origin + path);
      await page.getByRole('button', { name: `History of ${name}`, exact: true }).click();
      await page.getByRole('dialog').getByRole('row').filter({ has: page.getByRole('rowheader', { name: field, exact: true }) }).filter({ hasText: value }).first().waitFor();
      assert.equal(await page.getByRole('dialog').getByText('a-secret-of-many-letters').count(), 0);
    }
    await page.getByRole('button', { name: 'Close' }).first().click();

    step('the audit log has all changes, by actor and object');
    await page.goto(`${origin}/audit`);
    await page.getByRole('tab', { name: 'Changes' }).click();
    await page.waitForURL(/tab=changes/);
    await page.getByLabel('Object', { exact: true }).selectOption('user');
    await page.getByLabel('Actor', { exact: true }).fill('ada');
    await page.keyboard.press('Enter');
    await page.waitForURL(/actor=ada/);
    await changes.getByText('uma', { exact: true }).first().waitFor();
    await changes.getByText('Changed agent').waitFor({ state: 'detached' });
    await page.getByLabel('Actor', { exact: true }).fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No change matches').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await changes.getByRole('link', { name: 'The clerk' }).first().waitFor();
    await look('changes');
    quiet('in the history');
  },
};

try {
  await tours[what]();
  quiet('at the end');
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`);
  if (faults.length) console.error(faults.join('\n'));
  if (process.env.FAILED_SHOT) await page.screenshot({ path: process.env.FAILED_SHOT, fullPage: true });
  process.exitCode = 1;
}
await browser.close();
