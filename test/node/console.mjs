// What people do with the console, step by step.
// node console.mjs flows LINK COMMAND MCPJSON | viewer LINK | hostile LINK | many LINK
import assert from 'node:assert/strict';
import { accessible as accessibleAt, open, signIn, watch } from './browser.mjs';
import { smoothness } from './smooth.mjs';

const [what, link, ...rest] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, context, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
let lost = false; // whether addresses are tried that lead to nothing
const quiet = (when) => assert.deepEqual(faults.filter((f) => !(lost && /404/.test(f))), [], when);

const accessible = (where) => accessibleAt(page, where);
const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();

const flows = {
  async flows(command, config) {
    step('a page that wants a login comes back after it');
    await page.goto(`${origin}/calls?status=error`);
    await page.waitForURL(/\/login\?next=/);
    faults.length = 0; // the first question was answered with 401
    await page.goto(`${link}&next=${encodeURIComponent('/calls?status=error')}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/calls?status=error`);
    assert.equal(await page.getByLabel('Outcome').inputValue(), 'error');

    step('overview with first steps');
    await page.goto(origin);
    await heading('Overview');
    await page.getByText('First steps').waitFor();
    await accessible('overview');

    step('a server is added by its command, after consent to each word');
    await page.goto(`${origin}/servers/add?how=command`);
    await page.getByLabel('Command').fill(command);
    assert.ok(await page.getByRole('button', { name: 'Test connection' }).isDisabled(), 'a command runs without consent');
    await page.getByLabel(/exactly this/).check();
    await page.getByLabel('ID', { exact: true }).fill('everything');
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByRole('heading', { name: /\d+ tools/ }).waitFor();
    await accessible('add a server');
    await page.getByRole('button', { name: 'Add everything' }).click();
    await page.waitForURL(`${origin}/servers/everything`);
    await page.getByText('everything__', { exact: false }).or(page.getByText('echo', { exact: true })).first().waitFor();
    await accessible('server');

    step('an mcp.json is imported');
    await page.goto(`${origin}/servers/add?how=mcp.json`);
    await page.getByLabel('Configuration of an MCP client').fill(config);
    await page.getByLabel(/run exactly/).check();
    await page.getByRole('button', { name: /Test and add/ }).click();
    await page.getByText('added', { exact: true }).waitFor();
    quiet('while servers were added');

    step('tools are searched, and the search is in the address');
    await page.goto(`${origin}/tools`);
    await page.getByLabel('Search tools').fill('adds two numbers');
    await page.waitForURL(/q=adds/);
    await page.reload();
    assert.equal(await page.getByLabel('Search tools').inputValue(), 'adds two numbers');
    await page.getByRole('link', { name: /demo__add/ }).click();
    await heading('add');
    await accessible('tool');
    await page.getByRole('link', { name: 'Try the tool' }).click();

    step('a tool is called from a form made of its schema');
    const call = page.getByRole('button', { name: 'Run', exact: true });
    await page.getByRole('textbox', { name: 'a', exact: false }).first().waitFor();
    assert.ok(await call.isDisabled(), 'what does not fit can be called');
    const fields = page.locator('form').getByRole('textbox');
    await fields.nth(0).fill('2');
    await fields.nth(1).fill('40');
    await call.click();
    await page.getByText('success', { exact: true }).first().waitFor();
    await page.getByRole('tab', { name: 'Structured' }).click();
    await page.getByText('42').filter({ visible: true }).first().waitFor();
    await accessible('playground');
    await page.getByText('Code snippets', { exact: true }).click();
    assert.match(await page.locator('details pre').first().innerText(), /tools\/call/);

    step('progress is shown, and a call is cancelled');
    await page.goto(`${origin}/playground?name=demo__slow&as=json`);
    await page.getByLabel('Arguments as JSON').fill('{"steps": 20, "delay_ms": 400}');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText(/step|of 20/i).first().waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('You cancelled the call').waitFor();

    step('a question is answered in place');
    await page.goto(`${origin}/playground?name=demo__ask`);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const form = page.getByRole('form', { name: 'Input request' });
    await form.getByRole('textbox').nth(0).fill('Ada');
    await form.getByRole('textbox').nth(1).fill('green');
    await form.getByRole('button', { name: 'Answer' }).click();
    await page.getByText(/Ada/).last().waitFor();
    await page.getByText('success', { exact: true }).first().waitFor();
    quiet('in the playground');

    step('a resource is read and a prompt is got');
    await page.goto(`${origin}/playground?kind=prompt&server=demo&name=greet`);
    await page.locator('form').getByRole('textbox').first().fill('Grace');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText(/greeting for Grace/).first().waitFor();

    step('a call is seen in the tail while it happens');
    const second = await context.newPage();
    watch(second, faults);
    await second.goto(`${origin}/calls`);
    await second.getByText('live', { exact: true }).waitFor();
    await page.goto(`${origin}/playground?name=demo__echo&as=json`);
    await page.getByLabel('Arguments as JSON').fill('{"text": "seen in the tail"}');
    const before = await second.getByText('demo__echo').count();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await second.getByText('demo__echo').nth(before).waitFor();
    await second.getByRole('link', { name: /demo__echo/ }).first().click();
    await second.waitForURL(/calls\/\w+/);
    await second.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    await second.getByText('seen in the tail').first().waitFor();

    step('a page that nobody sees holds no stream, and knows all when it is seen');
    await second.goto(`${origin}/calls`);
    await second.getByText('live', { exact: true }).waitFor();
    const shown = (how) =>
      second.evaluate((how) => {
        Object.defineProperty(document, 'visibilityState', { value: how, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, how);
    await shown('hidden');
    await second.getByText('live', { exact: true }).waitFor({ state: 'detached' });
    const known = await second.getByText('demo__echo').count();
    const run = (r) => new URL(r.url()).pathname === '/api/v1/run';
    const over = Promise.any(['requestfinished', 'requestfailed'].map((event) => page.waitForEvent(event, run)));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await over;
    assert.equal(await second.getByText('demo__echo').count(), known);
    await shown('visible');
    await second.getByText('demo__echo').nth(known).waitFor();
    await second.close();
    await page.bringToFront();

    step('and found in the audit');
    await page.goto(`${origin}/audit`);
    await page.getByLabel('Text').fill('seen in the tail');
    await page.getByRole('link', { name: 'demo__echo' }).first().waitFor();
    await accessible('audit');

    step('an agent is made');
    await page.goto(`${origin}/agents`);
    await page.getByRole('button', { name: 'Create an agent' }).first().click();
    await page.getByLabel('Name').fill('qa-bot');
    await page.getByLabel('demo__echo').check();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('shown only once').waitFor();
    await page.getByRole('button', { name: 'I saved the key' }).click();
    await heading('qa-bot');
    await page.getByText('demo__echo').waitFor();
    await accessible('agent');

    step('a session that ends loses nothing');
    await page.goto(`${origin}/playground?name=demo__echo&as=json`);
    await page.getByLabel('Arguments as JSON').fill('{"text": "not lost"}');
    const kept = await context.cookies();
    await context.clearCookies();
    // A list that is read again may notice it before the call: the dialog is then over the button.
    await page.getByRole('button', { name: 'Run', exact: true }).dispatchEvent('click');
    await page.getByText('Your session has ended').waitFor();
    faults.length = 0; // the browser says that it was answered with 401
    await context.addCookies(kept);
    // The dialog looks by itself every few seconds, and may be gone by now.
    await page.evaluate(() => [...document.querySelectorAll('button')].find((b) => b.textContent === 'I have signed in')?.click());
    await page.getByText('Your session has ended').waitFor({ state: 'hidden' });
    assert.match(await page.getByLabel('Arguments as JSON').inputValue(), /not lost/);
    quiet('after the session came back');
  },

  async viewer() {
    step('a viewer looks');
    await signIn(page, link);
    for (const path of ['/servers', '/tools', '/agents', '/calls', '/usage', '/audit']) {
      await page.goto(origin + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      for (const name of ['Add a server', 'Create an agent']) assert.equal(await page.getByRole('link', { name }).or(page.getByRole('button', { name })).count(), 0, `${path}: ${name}`);
    }
    step('no page leads to a refusal');
    const menu = page.getByRole('navigation', { name: 'Screens' });
    for (const name of ['Playground', 'Chat', 'Models']) assert.equal(await menu.getByRole('link', { name, exact: true }).count(), 0, name);
    for (const path of ['/playground', '/chat', '/models']) {
      await page.goto(origin + path);
      await page.getByText('Your role does not include this page').waitFor();
    }
    await accessible('a page that the role does not include');
    await page.goto(`${origin}/settings?tab=secrets`);
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await page.goto(`${origin}/tools/demo__echo`);
    await page.getByRole('tab', { name: 'Definition' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Try the tool' }).count(), 0);
    quiet('while looking');
    step('and changes nothing');
    for (const [method, path, body] of [['POST', '/servers', { id: 'x', url: 'http://127.0.0.1:1' }], ['POST', '/agents', { name: 'x' }], ['POST', '/keys', { name: 'x', scopes: ['tools:read'] }], ['POST', '/run', { name: 'demo__echo', arguments: { text: 'x' } }]]) {
      const status = await page.evaluate(
        async ([m, p, b]) => (await fetch(`/api/v1${p}`, { method: m, headers: { 'Content-Type': 'application/json', 'X-Junctor-Console': '1' }, body: JSON.stringify(b) })).status,
        [method, path, body],
      );
      assert.equal(status, 403, `${method} ${path}`);
    }
    faults.length = 0; // the browser says that it was refused
  },

  async many() {
    await signIn(page, link);
    // Where processors are shared, their time counts what others took of it: what is
    // slow by itself is so again.
    const [most, tries] = process.env.JUNCTOR_LONG ? [100, 1] : [500, 3];
    const measure = await smoothness(browser, page);
    const smooth = async (where, act, left = tries) => {
      const { tasks, cpu, clock } = await measure(act);
      // A busy browser may lose events.
      if (tasks <= 10 && left > 1) return smooth(where, act, left - 1);
      // The long form is measured on a quiet machine, where events must be there.
      if (tasks <= 10 && !process.env.JUNCTOR_LONG) return step(`${where}: not measured, because the browser lost its events`);
      assert.ok(tasks > 10, `${where}: ${tasks} tasks were seen`);
      step(`figure: ${where}: the longest of ${tasks} tasks took ${cpu} ms, ${clock} by the clock`);
      if (cpu >= most && left > 1) return smooth(where, act, left - 1);
      assert.ok(cpu < most, `${where}: ${cpu} ms`);
    };
    // The start needs little data, however many tools there are. Bodies are counted as
    // they are before compression; streams have no end and hold no list.
    const bodies = [];
    const weigh = (res) => {
      const { pathname, search } = new URL(res.url());
      if (!pathname.startsWith('/api/v1/') || /stream|tail/.test(pathname)) return;
      const what = pathname + search;
      bodies.push(res.status() === 304 ? { what, size: 0 } : res.body().then((b) => ({ what, size: b.length })));
    };
    await page.goto('about:blank'); // what the former page still requested has no body any more
    page.on('response', weigh);
    await page.goto(origin);
    await page.locator('nav .count', { hasText: /5,0\d\d/ }).waitFor();
    await page.getByRole('heading', { name: 'Needs attention', exact: true }).waitFor();
    await page.waitForTimeout(1500);
    page.off('response', weigh);
    const sizes = await Promise.all(bodies);
    const whole = sizes.reduce((n, b) => n + b.size, 0);
    step(`figure: the start with 5,000 tools needs ${whole} bytes: ${sizes.map((b) => `${b.what} ${b.size}`).join(', ')}`);
    assert.ok(sizes.length > 3 && whole <= 50 * 1024, JSON.stringify(sizes.sort((a, b) => b.size - a.size)));

    await smooth('5,000 tools, opened', async () => {
      await page.goto(`${origin}/tools`);
      await page.getByText('many__tool-0000').waitFor();
    });
    await smooth('5,000 tools, scrolled', async () => {
      for (let i = 0; i < 30; i++) {
        await page.mouse.wheel(0, 4000); // pages load as their end comes near
        await page.waitForTimeout(30);
      }
    });
    await smooth('5,000 tools, searched', async () => {
      await page.getByLabel('Search tools').fill('');
      await page.getByLabel('Search tools').pressSequentially('number 4999');
      await page.getByText('many__tool-4999').waitFor();
    });
    assert.ok((await page.locator('main li').count()) < 100, 'all rows are drawn');
    await smooth('calls, opened', async () => {
      await page.goto(`${origin}/calls`);
      await page.getByText('live', { exact: true }).waitFor();
    });
    await smooth('calls, followed for 5 s', () => page.waitForTimeout(5000));
    await page.getByRole('button', { name: 'Pause' }).click();
    const held = await page.locator('main li').first().innerText();
    await page.waitForTimeout(800);
    assert.equal(await page.locator('main li').first().innerText(), held, 'a paused tail goes on');
  },

  async hostile() {
    await signIn(page, link);
    const inert = async (where) => {
      assert.equal(await page.evaluate(() => window.__xss), undefined, `${where}: a script ran`);
      const bad = await page.evaluate(() =>
        [...document.querySelectorAll('a[href], iframe, object, embed, base, meta[http-equiv], #root script, img[src]')]
          .filter((e) => !(e.tagName === 'A' && /^https?:$/.test(e.protocol)) && !(e.tagName === 'IMG' && /^data:image\/(png|jpeg|gif|webp)/.test(e.src)))
          .map((e) => e.outerHTML.slice(0, 120)),
      );
      assert.deepEqual(bad, [], where);
      assert.equal(new URL(page.url()).origin, origin, where);
      quiet(where);
    };
    step('names and descriptions');
    for (const path of ['/servers', '/servers/hostile', '/servers/hostile?tab=diagnostics', '/servers/hostile?tab=settings', '/usage?by=server', '/tools?q=say', '/tools/hostile__say-00', '/tools/hostile__say-05', '/agents?new=1']) {
      await page.goto(origin + path);
      await page.waitForTimeout(500);
      for (let i = 0; i < 3; i++) {
        await page.mouse.wheel(0, 1500);
        await page.waitForTimeout(100);
      }
      await inert(path);
    }
    step('results and errors');
    for (const name of ['hostile__say-00', 'hostile__say-01']) {
      await page.goto(`${origin}/playground?name=${name}`);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByRole('tab', { name: 'Raw' }).waitFor();
      await inert(`${name}, content`);
      await page.getByRole('tab', { name: 'Raw' }).click();
      await inert(`${name}, raw`);
    }
    step('records');
    await page.goto(`${origin}/calls`);
    await page.getByText('hostile__say-01').first().click();
    await page.getByRole('heading', { name: 'Response', exact: true }).waitFor();
    await inert('a call');
    step('and what an address says');
    lost = true;
    for (const path of ['/tools?q=%3Cscript%3Ewindow.__xss%3D1%3C/script%3E', '/playground?name=%3Cimg%20src%3Dx%20onerror%3Dwindow.__xss%3D1%3E', '/tools/%3Csvg%20onload%3Dwindow.__xss%3D1%3E']) {
      await page.goto(origin + path);
      await page.waitForTimeout(400);
      await inert(path);
    }
  },
};

try {
  await flows[what](...rest);
  quiet('at the end');
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`);
  if (faults.length) console.error(faults.join('\n'));
  process.exitCode = 1;
}
await browser.close();
