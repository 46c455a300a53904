// More of what people do with the console, each on an instance of its own.
// node tour_console.mjs screens LINK | keyboard LINK COMMAND | login LINK URL | playground LINK | first LINK
import assert from 'node:assert/strict';
import { accessible, barriers, open, signIn } from './browser.mjs';
import { addresses } from './screens.mjs';

const [what, link, ...rest] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();
const button = (name) => page.getByRole('button', { name, exact: true });

// tabTo moves with the Tab key alone until something is reached.
async function tabTo(locator, what) {
  for (let i = 0; i < 120; i++) {
    if (await locator.evaluate((e) => e === document.activeElement).catch(() => false)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${what} is not reached by the Tab key`);
}

// find chooses something in the palette.
async function find(text, option) {
  await page.keyboard.press('Control+k');
  await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'combobox');
  await page.keyboard.type(text);
  await page.getByRole('option', { name: option }).first().waitFor();
  await page.keyboard.press('Enter');
}

const tours = {
  // Every screen, light and dark, wide and narrow: nothing is too wide, nobody
  // is kept out, and the browser complains of nothing.
  async screens() {
    await signIn(page, link);
    const found = [];
    const look = async (name, colorScheme, width, rules) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(100);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) found.push(`${name} is ${wide} px too wide at ${width} px`);
      found.push(...(await barriers(page, `${name}, ${colorScheme}`, rules)));
      quiet(`${name}, ${colorScheme}, ${width} px`);
    };
    const all = Object.entries(await addresses(page));
    for (const [i, [name, path]] of all.entries()) {
      if (i === 0) await page.goto(origin + path);
      else await page.evaluate((to) => history.pushState(null, '', to), path); // as a link does it
      await page.waitForFunction((to) => location.pathname + location.search === to, path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForTimeout(200);
      if (await page.getByText('Page not found').count()) found.push(`${name}: ${path} is no screen`);
      await look(name, 'light', 1440);
      await look(name, 'dark', 390, process.env.JUNCTOR_LONG ? undefined : ['color-contrast', 'scrollable-region-focusable']); // rules that depend on colors and width
      if (i % 10 === 9) step(`${i + 1} of ${all.length} screens`);
    }
    assert.deepEqual(found, []);
  },

  // From signing in to the story of a call, without a mouse.
  async keyboard(command) {
    await page.goto(link);
    await tabTo(button('Sign in'), 'Sign in');
    await page.keyboard.press('Enter');
    await heading('Overview');
    step('a server is added');
    await find('add a server', /^Add a server/);
    await heading('Add a server');
    await tabTo(page.getByRole('tab', { name: 'Command' }), 'Command');
    await page.keyboard.press('Enter');
    await tabTo(page.getByLabel('Command'), 'Command');
    await page.keyboard.type(command);
    await tabTo(page.getByLabel('ID', { exact: true }), 'ID');
    await page.keyboard.type('everything');
    await tabTo(page.getByLabel(/exactly this/), 'the consent');
    await page.keyboard.press('Space');
    await tabTo(button('Test connection'), 'Test connection');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /\d+ tools/ }).waitFor();
    await tabTo(button('Add everything'), 'Add everything');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/servers/everything`);
    step('a tool is called');
    await find('try everything__get-sum', /^Try everything__get-sum/);
    await page.waitForURL(/playground\?name=everything__get-sum/);
    await tabTo(page.locator('form').getByRole('textbox').first(), 'the first field');
    await page.keyboard.type('2');
    await page.keyboard.press('Tab');
    await page.keyboard.type('40');
    await page.keyboard.press('Control+Enter');
    await page.getByText('success', { exact: true }).first().waitFor();
    step('its story is read');
    await tabTo(page.getByRole('link', { name: 'Call details' }), 'Call details');
    await page.keyboard.press('Enter');
    await page.waitForURL(/calls\/\w+/);
    await page.getByRole('heading', { name: 'Timing' }).waitFor();
    step('an agent is made');
    await find('create an agent', /^Create an agent/);
    await page.getByLabel('Name').waitFor();
    await tabTo(page.getByLabel('Name'), 'Name');
    await page.keyboard.type('typist');
    await tabTo(page.getByLabel('everything__echo'), 'a tool');
    await page.keyboard.press('Space');
    await tabTo(button('Create'), 'Create');
    await page.keyboard.press('Enter');
    await page.getByText('shown only once').waitFor();
    await tabTo(button('I saved the key'), 'I saved the key');
    await page.keyboard.press('Enter');
    await heading('typist');
    quiet('by keyboard');
  },

  // A server that wants a login: it is added, somebody logs in, each step is
  // shown, and somebody logs out.
  async login(url) {
    await signIn(page, link);
    step('it is reached, and wants a login');
    await page.goto(`${origin}/servers/add`);
    await page.getByLabel('URL').fill(url);
    await page.getByLabel('Authentication').selectOption('oauth');
    await page.getByLabel('Client ID').fill('junctor-test');
    await page.getByLabel('ID', { exact: true }).fill('lazy');
    await button('Test connection').click();
    await page.getByText('List tools, resources and prompts').waitFor();
    await page.getByRole('heading', { name: /\d+ tools/ }).or(page.getByText('The server requires a login')).first().waitFor();
    await button('Add lazy').click();
    await page.waitForURL(`${origin}/servers/lazy?tab=sign-in`);
    await page.getByText('not logged in').waitFor();
    await accessible(page, 'before the login');
    step('somebody logs in, in another tab');
    const [other] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'Log in' }).first().click()]);
    await other.getByRole('button').first().click();
    await other.locator('.btn.approve').click();
    await other.getByText('You are logged in to').waitFor(); // behind a page that leads on
    await other.close();
    await page.bringToFront();
    await page.getByText('logged in', { exact: true }).waitFor();
    step('and sees each step');
    await page.getByText('Login completed').waitFor();
    await page.getByText('Login started').click();
    await page.waitForURL(/trace=/);
    await page.getByText('Request and response').first().click();
    await page.getByText(/HTTP \d+/).first().waitFor();
    await page.getByText('configured client junctor-test').waitFor();
    await accessible(page, 'the steps of a login');
    quiet('while logging in');
    step('a call is made with the login');
    await page.goto(`${origin}/playground?name=lazy__get_secret`);
    await button('Run').click();
    await page.getByText('success', { exact: true }).first().waitFor();
    step('and somebody logs out');
    await page.goto(`${origin}/servers/lazy?tab=sign-in`);
    await button('Log out').click();
    await page.getByRole('dialog').getByText('Log out of lazy?').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByText('not logged in').or(page.getByText('login expired')).first().waitFor();
    quiet('while logging out');
  },

  // What the playground can do, with the real server-everything.
  async playground() {
    await signIn(page, link);
    const json = page.getByLabel('Arguments as JSON');
    step('form and JSON are one');
    await page.goto(`${origin}/playground?name=everything__get-sum`);
    const fields = page.locator('fieldset').getByRole('textbox');
    await fields.nth(0).fill('7');
    assert.match(await json.inputValue(), /7/);
    await json.fill('{"a": 5, "b": "x"}');
    assert.equal(await fields.nth(0).inputValue(), '5');
    await page.getByText('/b', { exact: true }).waitFor();
    assert.ok(await button('Run').isDisabled(), 'what does not fit can be called');
    await json.fill('{"a": 5, ');
    await page.getByText('Invalid JSON. Fix it').waitFor();
    await json.fill('{"a": 5, "b": 6}');
    step('an example is kept');
    await page.getByRole('button', { name: 'Saved examples' }).click();
    await page.getByLabel('Name of the example').fill('five and six');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Reset arguments' }).click();
    await page.getByRole('button', { name: /Saved examples/ }).click();
    await page.getByRole('button', { name: /five and six/ }).first().click();
    assert.match(await json.inputValue(), /"b": 6/);
    await button('Run').click();
    await page.getByText(/is 11\./).first().waitFor();
    step('the same from elsewhere');
    await page.getByText('Code snippets', { exact: true }).click();
    for (const [name, want] of [['curl', 'tools/call'], ['junctor', 'junctor tool call'], ['Go', 'CallTool'], ['TypeScript', 'callTool'], ['Python', 'urlopen']]) {
      await page.getByRole('tab', { name, exact: true }).click();
      assert.match(await page.locator('details pre').first().innerText(), new RegExp(want));
    }
    step('a picture and links are shown');
    await page.goto(`${origin}/playground?name=everything__get-tiny-image`);
    await button('Run').click();
    await page.locator('img.picture').waitFor();
    assert.ok(await page.locator('img.picture').evaluate((i) => i.naturalWidth > 0), 'the picture is not drawn');
    await page.goto(`${origin}/playground?name=everything__get-resource-links`);
    await button('Run').click();
    await page.getByRole('link', { name: 'Read', exact: true }).first().click();
    await page.waitForURL(/kind=resource/);
    await button('Run').click();
    await page.getByText('success', { exact: true }).first().waitFor();
    step('progress of a long call');
    await page.goto(`${origin}/playground?name=everything__trigger-long-running-operation&as=json`);
    await json.fill('{"duration": 2, "steps": 4}');
    await button('Run').click();
    await page.getByText(/of 4|\/4/).first().waitFor();
    await page.getByText('success', { exact: true }).first().waitFor();
    step('sampling is answered in place');
    await page.goto(`${origin}/playground?name=everything__trigger-sampling-request&as=json`);
    await json.fill('{"prompt": "What is the answer?"}');
    await button('Run').click();
    const asked = page.getByRole('form', { name: 'Sampling request' });
    await asked.getByText(/What is the answer/).first().waitFor();
    await accessible(page, 'a question');
    await asked.getByLabel('Your answer').fill('It is forty-two.');
    await asked.getByRole('button', { name: 'Answer' }).click();
    await page.getByText(/forty-two/).first().waitFor();
    step('what was tried is tried again');
    await page.getByRole('button', { name: 'Run again: everything__get-sum' }).first().click();
    await page.waitForURL(/name=everything__get-sum/);
    await page.getByText(/is 11\./).first().waitFor();
    step('a call has one duration, wherever it is shown');
    const shown = await page.locator('#outcome header .num').first().innerText();
    const call = (await page.getByRole('link', { name: 'Call details' }).getAttribute('href')).split('/').pop();
    const recorded = await page.evaluate(async (id) => (await (await fetch(`/api/v1/calls/${id}`)).json()).duration_ns, call);
    const kept = await page.evaluate(() => JSON.parse(sessionStorage.getItem('junctor-runs'))[0]);
    assert.deepEqual([kept.call, kept.ns], [call, recorded]);
    assert.equal(await page.locator('#outcome .rows .num').first().innerText(), shown);
    step('two results are compared');
    await page.getByRole('tab', { name: 'Structured' }).or(page.getByRole('tab', { name: 'Content' })).first().waitFor();
    await json.fill('{"a": 5, "b": 7}');
    await button('Run').click();
    await page.getByText(/is 12\./).first().waitFor();
    const compare = page.getByRole('button', { name: 'Compare: everything__get-sum' });
    await compare.nth(0).click();
    await compare.nth(1).click();
    const results = page.getByLabel('Results side by side');
    await results.getByText(/is 11\./).first().waitFor();
    await results.getByText(/is 12\./).first().waitFor();
    await page.getByLabel('Arguments side by side').waitFor();
    await accessible(page, 'a comparison');
    await button('Close').click();
    await results.waitFor({ state: 'detached' });
    step('the result has more room than the arguments, which fold away');
    const width = (selector) => page.locator(selector).evaluate((e) => e.getBoundingClientRect().width);
    const [left, right] = [await width('.narrow-left > div:first-child'), await width('#outcome')];
    assert.ok(Math.abs(left / (left + right) - 0.4) < 0.02, `${left} and ${right}`);
    await button('Arguments').click();
    await json.waitFor({ state: 'detached' });
    await accessible(page, 'folded arguments');
    await button('Run').click();
    await page.getByText(/is 12\./).first().waitFor();
    await button('Arguments').click();
    await json.waitFor();
    step('its story is told');
    await page.getByRole('link', { name: 'Call details' }).click();
    await page.getByText('Limits', { exact: true }).waitFor();
    await page.locator('.waterfall li').nth(2).waitFor();
    quiet('in the playground');
    step('all of a server is changed');
    await page.goto(`${origin}/servers/everything?tab=settings`);
    await page.getByLabel('Title').fill('Everything there is');
    await page.getByText('Advanced', { exact: true }).click();
    await page.getByLabel('Call timeout', { exact: true }).fill('45s');
    await page.getByLabel('Total call timeout').fill('1h');
    await button('Save').click();
    await heading('Everything there is');
    await page.getByLabel('List echo').click({ force: true });
    await page.getByRole('button', { name: 'More settings of get-sum' }).click();
    await page.locator('.further').getByLabel('Call timeout', { exact: true }).fill('2m');
    await page.getByRole('button', { name: 'Save tools' }).click();
    await page.waitForFunction(async () => !(await (await fetch('/api/v1/tools')).json()).items.some((t) => t.exposed === 'everything__echo'));
    const stored = await page.evaluate(async () => (await fetch('/api/v1/servers/everything')).json());
    assert.deepEqual([stored.call_timeout, stored.call_timeout_max], ['45s', '1h']);
    assert.deepEqual(stored.overrides, { echo: { hide: true }, 'get-sum': { call_timeout: '2m' } });
    quiet('while a server was changed');
    step('while the sums load, nothing is said to be zero');
    let answer;
    const held = new Promise((done) => (answer = done));
    await page.route(/\/api\/v1\/usage\?/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${origin}/usage`);
    await heading('Usage');
    await page.locator('main .bone').first().waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /\b0 calls|No calls/);
    answer();
    await page.locator('main .bone').first().waitFor({ state: 'detached' });
    await page.unroute(/\/api\/v1\/usage\?/);
    step('sums of one tool, and of errors');
    await page.getByRole('button', { name: 'everything/get-sum' }).click();
    await page.waitForURL(/of=everything/);
    await page.goto(`${origin}/usage?by=error`);
    await page.getByText(/No errors|Latest reason/).first().waitFor();
    quiet('in the sums');
  },

  // The first minutes: the link leads to a page whose steps tick themselves off.
  async first() {
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/start`);
    await page.getByText('0 of 4').waitFor();
    await accessible(page, 'first steps');
    await button('Call demo__add').click();
    await page.getByText('1 of 4').waitFor();
    step('a call ticked its step off');
    await page.getByRole('button', { name: /Connect your client/ }).click();
    const key = await page.evaluate(async () => {
      const made = await fetch('/api/v1/keys', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Junctor-Console': '1' }, body: JSON.stringify({ name: 'client', scopes: ['tools:read', 'tools:call'] }) });
      return (await made.json()).key;
    });
    const params = { name: 'demo__echo', arguments: { text: 'hello' }, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'a client', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} } };
    const res = await fetch(rest[0], {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'demo__echo' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    assert.equal(res.status, 200, await res.text());
    await page.getByText('2 of 4').waitFor();
    step('and so did a client');
    quiet('in the first steps');
  },
};

try {
  await tours[what](...rest);
  quiet('at the end');
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`);
  if (faults.length) console.error(faults.join('\n'));
  if (process.env.FAILED_SHOT) await page.screenshot({ path: process.env.FAILED_SHOT, fullPage: true });
  process.exitCode = 1;
}
await browser.close();
