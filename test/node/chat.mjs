// Rooms in the console: node chat.mjs '{"link","model","control","shots"}'
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { frameOf } from './apps_host.mjs';
import { accessible, open, signIn, watch } from './browser.mjs';

const { link, model, control, shots } = JSON.parse(process.argv[2]);
const origin = new URL(link).origin;
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const counts = async () => (await fetch(`${control}/counts`)).json();
const release = () => fetch(`${control}/release`, { method: 'POST' });

const { browser, context, page, faults } = await open({ acceptDownloads: true });
context.setDefaultTimeout(90_000);

// until waits for a condition that no page shows.
async function until(what, holds) {
  for (const end = Date.now() + 90_000; !(await holds()); await page.waitForTimeout(50)) if (Date.now() > end) throw new Error(`${what}: it does not come`);
}

const field = (p) => p.getByRole('combobox', { name: 'Your message' });
const send = (p) => p.getByRole('button', { name: 'Send' });
// idle waits until nobody is at work, and the page knows.
async function idle(p) {
  await until('the end of the run', () => p.evaluate(async () => (await (await fetch(`/api/v1/rooms/${location.pathname.split('/')[2]}`)).json()).run === undefined));
  await send(p).waitFor();
}
async function say(text) {
  await idle(page);
  await field(page).fill(text);
  await send(page).click();
  await page.locator('.said.mine').filter({ hasText: text }).last().waitFor();
}
const last = (p, name) => p.locator('article.said.agent').filter({ hasText: name }).last();
const card = (p, tool, state) => p.locator(`.called[data-state=${state}]`).filter({ hasText: tool });

try {
  await signIn(page, link);

  // A model, added and tested.
  await page.goto(`${origin}/models`);
  await page.getByRole('button', { name: 'Add a model' }).first().click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Name').fill('local');
  await form.getByLabel('Model').fill('m');
  await form.getByLabel('Address').fill(model);
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await form.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText('answers', { exact: true }).waitFor();
  await accessible(page, 'models');
  step('a model is added and answers');

  // Both agents are given it.
  for (const name of ['keeper', 'teller']) {
    await page.goto(`${origin}/agents/${name}?tab=brain`);
    await page.getByRole('combobox', { name: 'Model', exact: true }).selectOption('local');
    await page.getByLabel('Instructions').fill(`You are ${name}.`);
    const saved = page.waitForResponse((r) => r.request().method() === 'PATCH' && r.ok());
    await page.getByRole('button', { name: 'Save' }).click();
    await saved;
    await page.getByText('The agent answers users in rooms and runs.').waitFor();
  }
  await accessible(page, 'brain');
  // A third has the example of rules that the page begins with.
  await page.goto(`${origin}/agents/adder?tab=brain`);
  await page.getByText('Rules', { exact: true }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The agent answers users in rooms and runs.').waitFor();
  assert.match(await page.getByRole('textbox', { name: 'Rules', exact: true }).inputValue(), /demo__add/);
  step('agents have brains');

  // A room with both.
  await page.goto(`${origin}/chat?new=1`);
  await page.getByRole('dialog').getByLabel('Name').fill('The shed');
  for (const name of ['keeper', 'teller']) await page.getByRole('checkbox', { name }).check();
  await page.getByLabel('Who answers').selectOption('addressed');
  await page.getByRole('button', { name: 'Create room' }).click();
  await page.getByRole('heading', { name: 'The shed' }).waitFor();
  await page.locator('.room-head .dot.good').waitFor();
  const room = page.url();
  step('a room is open');

  // An empty room says what one may begin with.
  const starters = page.getByRole('list', { name: 'Starter prompts' });
  await starters.getByRole('button', { name: '@keeper What can you do?' }).click();
  assert.equal(await field(page).inputValue(), '@keeper What can you do?');
  await accessible(page, 'starter prompts');
  await field(page).fill('');
  step('starter prompts are offered');

  // Words are seen as they come, in Markdown, and nothing in them runs. Who is
  // named is completed.
  await field(page).fill('@ke');
  await page.getByRole('option', { name: '@keeper' }).waitFor();
  await accessible(page, 'naming');
  await page.keyboard.press('Enter');
  await page.keyboard.type('tell me slowly');
  assert.equal(await field(page).inputValue(), '@keeper tell me slowly');
  await page.keyboard.press('Enter');
  const telling = last(page, 'One');
  await telling.locator('strong', { hasText: 'One' }).waitFor();
  assert.equal(await telling.getAttribute('aria-busy'), 'true');
  await page.getByText('keeper working').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  // Who comes in the middle hears it from the beginning.
  const beside = await context.newPage();
  watch(beside, faults);
  await beside.goto(room);
  await last(beside, 'One').locator('strong', { hasText: 'One' }).waitFor();
  await release();
  await last(beside, 'One').locator('em', { hasText: 'two' }).waitFor();
  await beside.close();
  await page.bringToFront();
  await telling.locator('em', { hasText: 'two' }).waitFor();
  await idle(page);
  await page.locator('article.said.agent[aria-busy=false]').filter({ hasText: 'at last' }).waitFor();
  assert.equal(await page.locator('article.said.agent').count(), 1, 'what was said stands there once');
  await telling.getByText('<img src=x onerror="window.__xss=1">').waitFor();
  assert.equal(await page.locator('.said img').count(), 0);
  step('words are seen as they come');

  // Sent twice at once it is said once; what is written before it has gone out stays.
  let asks = 0;
  let goOut;
  const held = new Promise((done) => (goOut = done));
  const runs = (url) => /\/api\/v1\/rooms\/[^/]+\/runs$/.test(url.pathname);
  await page.route(runs, async (route) => {
    asks++;
    await held;
    await route.continue();
  });
  await field(page).fill('@keeper good morning');
  await page.evaluate(() => {
    const form = document.querySelector('form.composer');
    form.requestSubmit();
    form.requestSubmit();
  });
  await until('the request', () => asks > 0);
  await field(page).fill('and then');
  goOut();
  await page.locator('.said.mine').filter({ hasText: 'good morning' }).waitFor();
  await last(page, 'hello').waitFor();
  await idle(page);
  await page.locator('button[aria-label=Send]:not([data-loading])').waitFor();
  assert.equal(await field(page).inputValue(), 'and then');
  assert.equal(asks, 1);
  await page.unroute(runs);
  step('what is written stays, what is sent goes once');

  // Each has its own tools, and a call of the other's is not made.
  await page.locator('.in-play').click();
  const drawer = page.getByRole('dialog');
  await drawer.getByText('shed__burn').waitFor();
  await drawer.getByText('clock__get-time').waitFor();
  await accessible(page, 'tools in play');
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  await say('@teller burn it');
  await card(page, 'shed__burn', 'failed').waitFor();
  await idle(page);
  await say('@keeper what time is it');
  await card(page, 'clock__get-time', 'failed').waitFor();
  await idle(page);
  assert.equal((await counts()).burnt, 0, 'the other’s tool was not called');
  assert.equal(await page.locator('.asked').count(), 0);
  step('neither uses what is the other’s');

  // A person's word counts: denied, allowed once, allowed for good.
  await say('@keeper burn it');
  const asked = page.getByRole('region', { name: 'May keeper call shed__burn?' });
  await asked.waitFor();
  await asked.getByText('the shed').waitFor();
  await accessible(page, 'an approval');
  await page.reload();
  await asked.getByRole('button', { name: 'Deny' }).click();
  await card(page, 'shed__burn', 'denied').waitFor();
  await idle(page);
  assert.equal((await counts()).burnt, 0, 'what is denied is not done');
  await say('@keeper burn it now');
  await asked.getByRole('button', { name: 'Allow once' }).click();
  await last(page, 'the shed is no more').waitFor();
  await idle(page);
  assert.equal((await counts()).burnt, 1);
  await say('@keeper burn it once more');
  await asked.getByRole('button', { name: 'Always allow in this room' }).click();
  await until('the second fire', async () => (await counts()).burnt === 2);
  await idle(page);
  await say('@keeper burn it again');
  await until('a fire without a question', async () => (await counts()).burnt === 3);
  await idle(page);
  assert.equal(await asked.count(), 0);
  step('a person’s word counts');

  // A card leads to its record.
  await page.getByRole('link', { name: 'Call details' }).last().click();
  await page.waitForURL(/\/calls\/[^/]+$/);
  await page.getByText('keeper').first().waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'The shed' }).waitFor();
  step('a card leads to its record');

  // An App stands in the conversation, and again when the room is opened again.
  let opens = page.waitForResponse((r) => r.request().method() === 'POST' && new URL(r.url()).pathname === '/api/v1/views');
  await say('@teller what time is it now');
  await page.getByRole('region', { name: 'May teller call clock__get-time?' }).getByRole('button', { name: 'Allow once' }).click();
  let view = await (await opens).json();
  await page.locator('.said .view[data-state=ready]').waitFor();
  await (await frameOf(page, view.id)).getByRole('button', { name: 'Get Server Time' }).waitFor();
  // The result is shown once: by the App, not by the card as well.
  const shown = card(page, 'clock__get-time', 'done').last();
  await shown.locator('summary').click();
  await shown.getByText('The App below shows the response.').waitFor();
  await shown.locator('summary').click();
  await idle(page);
  opens = page.waitForResponse((r) => r.request().method() === 'POST' && new URL(r.url()).pathname === '/api/v1/views');
  await page.reload();
  view = await (await opens).json();
  await page.locator('.said .view[data-state=ready]').waitFor();
  await (await frameOf(page, view.id)).getByRole('button', { name: 'Get Server Time' }).waitFor();
  await accessible(page, 'an App in a room');
  step('an App stands in the conversation');

  // Stop stops.
  await say('@keeper wait');
  await until('the call', async () => (await counts()).began === 1);
  await page.getByRole('button', { name: 'Stop' }).click();
  await until('the end of the call', async () => (await counts()).cancels === 1);
  await page.getByText('Stopped.').waitFor();
  await idle(page);
  const thought = (await counts()).asked;
  await say('@keeper hello');
  await last(page, 'hello').waitFor();
  await idle(page);
  assert.equal((await counts()).asked, thought + 1, 'what was stopped does not go on');
  step('stop stops');

  // An App has tools of its own: the agent whose call it shows uses them while it
  // is looked at.
  const api = (method, path, body) =>
    page.evaluate(
      async ([m, p, b]) => {
        const r = await fetch(`/api/v1${p}`, { method: m, headers: { 'X-Junctor-Console': '1', ...(b ? { 'Content-Type': 'application/json' } : {}) }, ...(b ? { body: JSON.stringify(b) } : {}) });
        return { status: r.status, text: await r.text() };
      },
      [method, path, body],
    );
  const must = async (...args) => {
    const { status, text } = await api(...args);
    assert.ok(status < 300, `${args[0]} ${args[1]}: ${status} ${text}`);
    return JSON.parse(text);
  };
  await must('PATCH', '/agents/planner', { brain: { model: 'local' } });
  const plan = await must('POST', '/rooms', { name: 'The plan', members: [{ agent: 'planner' }], policy: 'addressed', approvals: 'never' });
  await page.goto(`${origin}/chat/${plan.id}`);
  await page.getByRole('heading', { name: 'The plan' }).waitFor();
  opens = page.waitForResponse((r) => r.request().method() === 'POST' && new URL(r.url()).pathname === '/api/v1/views');
  opens.catch(() => undefined); // what is awaited first says what is wrong
  await say('@planner show me the budget');
  await card(page, 'budget__get-budget-data', 'done').waitFor();
  view = await (await opens).json();
  await page.locator('.said .view[data-state=ready]').waitFor();
  await until('tools of its own', async () => (await must('GET', `/views/${view.id}/tools`)).items.some((t) => t.name === 'set-total-budget'));
  await idle(page);
  await say('@planner set the total');
  await card(page, 'view_set-total-budget', 'done').waitFor();
  await idle(page);
  await say('@planner tell me the allocations');
  await card(page, 'view_get-allocations', 'done').waitFor();
  await last(page, '"totalBudget": 123456').waitFor();
  await idle(page);
  const own = (await must('GET', `/calls?view=${view.id}`)).items.find((c) => c.name === 'own:set-total-budget');
  assert.equal(own?.agent, 'planner', 'it is on record as the agent’s');
  assert.equal(own?.server, 'budget');
  // Closed with the page that showed it, its tools are gone.
  await page.locator('.rail a[href="/models"]').click();
  await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
  await until('the App to be closed', async () => (await must('GET', '/views')).items.every((v) => v.id !== view.id));
  const run = await api('POST', `/rooms/${plan.id}/runs`, { threadId: plan.id, runId: 'after', messages: [{ id: 'after-1', role: 'user', content: '@planner tell me the allocations' }] });
  assert.equal(run.status, 200, run.text);
  const told = (await must('GET', `/rooms/${plan.id}/messages?limit=100&sort=at`)).items.findLast((m) => m.calls?.length > 0);
  assert.equal(told.calls[0].state, 'failed', JSON.stringify(told));
  assert.match(told.calls[0].result_text, /unknown tool/);
  await page.goto(room);
  await page.getByRole('heading', { name: 'The shed' }).waitFor();
  step('the agent uses the tools of an App that is looked at, and no longer');

  // Search and export.
  await page.getByRole('button', { name: 'Search this room' }).click();
  await page.getByLabel('Search text').fill('slowly');
  await page.keyboard.press('Enter');
  await page.locator('.found-rows button').first().click();
  await page.locator('.said.found').waitFor();
  for (const [format, ending] of [['Markdown', '.md'], ['JSON', '.json']]) {
    await page.getByRole('button', { name: 'More about this room' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: `Export as ${format}` }).click();
    assert.equal((await saved).suggestedFilename(), `the-shed${ending}`);
  }
  step('search and export');

  // On a phone.
  const state = await context.storageState();
  const phone = await browser.newContext({ storageState: state, viewport: { width: 390, height: 844 }, reducedMotion: 'reduce', hasTouch: true });
  phone.setDefaultTimeout(90_000);
  const small = await phone.newPage();
  watch(small, faults);
  await small.goto(room);
  await last(small, 'hello').waitFor();
  assert.ok(await small.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'nothing is wider than the phone');
  assert.ok(await field(small).isVisible());
  await accessible(small, 'a room on a phone');
  await small.getByRole('link', { name: 'All rooms' }).click();
  await small.getByRole('link', { name: /The shed/ }).waitFor();
  await accessible(small, 'rooms on a phone');
  await phone.close();
  step('on a phone');

  assert.equal(await page.evaluate(() => window.__xss), undefined);
  assert.deepEqual(faults, []);
  if (shots) await pictures(state, room);
} catch (err) {
  console.log(`at ${page.url()}:\n${await page.locator('main').innerText().catch(() => '')}\n${faults.join('\n')}`);
  throw err;
} finally {
  await browser.close();
}

// pictures are to be looked at: light and dark, wide and narrow.
async function pictures(state, room) {
  mkdirSync(shots, { recursive: true });
  for (const colorScheme of ['light', 'dark'])
    for (const width of [1440, 390]) {
      const c = await browser.newContext({ storageState: state, viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme, reducedMotion: 'reduce' });
      const p = await c.newPage();
      const take = (name) => p.screenshot({ path: `${shots}/${name}-${colorScheme}-${width}.png` });
      await p.goto(`${origin}/chat`);
      await p.getByRole('link', { name: /The shed/ }).waitFor();
      await take('rooms');
      await p.goto(room);
      await p.locator('.said .view[data-state=ready]').waitFor();
      await take('room');
      await p.locator('.view').scrollIntoViewIfNeeded();
      await take('room-app');
      await p.locator('.called[data-state=denied]').first().scrollIntoViewIfNeeded();
      await take('room-denied');
      await p.locator('.in-play').click();
      await p.getByText('shed__burn').last().waitFor();
      await take('tools');
      await p.goto(`${origin}/models`);
      await p.getByRole('button', { name: 'Test' }).waitFor();
      await take('models');
      await p.goto(`${origin}/agents/keeper?tab=brain`);
      await p.getByLabel('Instructions').waitFor();
      await take('brain');
      await c.close();
    }
}
