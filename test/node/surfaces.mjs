// Surfaces in the console's chat: node surfaces.mjs '{"link","shots"}', with an
// instance of `junctor demo` that has an agent `odd` too, whose surface has a
// component that nobody knows.
import assert from 'node:assert/strict';
import { accessible, open, signIn } from './browser.mjs';

const { link, shots } = JSON.parse(process.argv[2]);
const origin = new URL(link).origin;
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);

const { browser, context, page, faults } = await open();
context.setDefaultTimeout(90_000);
// Results that have a page of their own are shown from the sandbox's names.
const ours = (hostname) => hostname === new URL(origin).hostname || hostname.endsWith('.junctor.localhost');
const foreign = [];
page.on('request', (r) => {
  const { protocol, hostname } = new URL(r.url());
  if (!['data:', 'blob:', 'about:'].includes(protocol) && !ours(hostname)) foreign.push(r.url());
});

const api = (method, path, body) =>
  page.evaluate(
    async ([m, p, b]) => {
      const headers = { 'Content-Type': 'application/json', 'X-Junctor-Console': '1' };
      const r = await fetch(`/api/v1${p}`, m === 'GET' ? {} : { method: m, headers, body: JSON.stringify(b) });
      const text = await r.text();
      if (!r.ok) throw new Error(`${m} ${p}: ${r.status} ${text}`);
      return text ? JSON.parse(text) : undefined;
    },
    [method, path, body],
  );
const call = async (tool, args) => (await api('POST', `/tools/${tool}/call`, { arguments: args })).content.map((c) => c.text ?? '').join('\n');

async function until(what, holds) {
  for (const end = Date.now() + 90_000; !(await holds()); await page.waitForTimeout(50)) if (Date.now() > end) throw new Error(`${what}: it does not come`);
}
const field = page.getByRole('combobox', { name: 'Your message' });
async function idle() {
  await until('the end of the run', async () => (await api('GET', `/rooms/${new URL(page.url()).pathname.split('/')[2]}`)).run === undefined);
  await page.getByRole('button', { name: 'Send', exact: true }).last().waitFor();
}
async function say(text) {
  await idle();
  await field.fill(text);
  await page.locator('.composer').getByRole('button', { name: 'Send' }).click();
  await page.locator('.said.mine').filter({ hasText: text }).last().waitFor();
  await idle();
}
const last = () => page.locator('article.said.agent').last();
const marker = () => page.locator('.sf-pin').last();

// The geocoder's own word for a description, by the tool that the agent used.
async function placeOf(query) {
  const text = await call('map__geocode', { query });
  const [, label] = /1\.\s*([^\n]+)/.exec(text);
  const [, latitude, longitude] = /Coordinates:\s*([-\d.]+),\s*([-\d.]+)/.exec(text);
  return { latitude: Number(latitude), longitude: Number(longitude), label: label.trim() };
}
async function markerIs(place) {
  await until(`the marker at ${place.label}`, async () => {
    const d = await marker().evaluate((e) => ({ ...e.dataset }));
    return Number(d.latitude) === place.latitude && Number(d.longitude) === place.longitude && d.label === place.label;
  });
  await page.locator('.sf-pin-label').filter({ hasText: place.label }).last().waitFor();
}

async function picture(name, seen = last()) {
  if (!shots) return;
  for (const [width, height] of [[1440, 900], [390, 844]])
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await seen.evaluate((e) => e.scrollIntoView({ block: 'end' }));
      await page.waitForTimeout(400);
      await page.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png` });
    }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
}

try {
  await signIn(page, link);
  const rooms = (await api('GET', '/rooms')).items;
  await page.goto(`${origin}/chat/${rooms.find((r) => r.name === 'Lobby').id}`);
  await field.waitFor();

  // Where was it? The most recent of several, with its date, and the marker where
  // the geocoder has it.
  await say('@bank Where was my Tesco transaction?');
  const all = JSON.parse(await call('bank__get_transactions', { limit: 200 })).transactions;
  const tesco = all.filter((t) => /tesco/i.test(t.description)).sort((a, b) => b.date.localeCompare(a.date));
  assert.ok(tesco.length > 1, 'the bank has several transactions at Tesco');
  const [newest, other] = tesco;
  const day = new Date(`${newest.date}T12:00:00Z`);
  const month = day.toLocaleDateString('en', { month: 'short', timeZone: 'UTC' });
  await last().locator('.prose').filter({ hasText: `your most recent Tesco transaction occurred (${month} ${day.getUTCDate()})` }).first().waitFor();
  await last().locator('.surface').getByText(newest.description, { exact: true }).first().waitFor();
  await markerIs(await placeOf(newest.description));
  await page.locator('.sf-country').first().waitFor({ state: 'attached' });
  await accessible(page, 'a place');
  await picture('place');
  step('the map shows where it was');

  // Another match moves it, and the place of before is put away.
  await last().locator('.sf-press').filter({ hasText: other.date }).first().click();
  await page.locator('.said.mine').filter({ hasText: 'pressed' }).last().waitFor();
  await idle();
  await page.getByRole('button', { name: 'Show previous version' }).waitFor();
  await markerIs(await placeOf(other.description));
  await until('one map alone', async () => (await page.locator('.sf-pin').count()) === 1);
  step('another match moves the marker');

  // A surface's button acts.
  await say('@bank what accounts do I have?');
  const accounts = JSON.parse(await call('bank__get_accounts', {})).accounts;
  for (const a of accounts) await last().locator('.sf-account').filter({ hasText: a.name }).first().waitFor();
  await picture('accounts');
  await last().locator('.sf-press').filter({ hasText: accounts[0].name }).first().click();
  await last().getByText('Latest transactions').waitFor();
  await idle();
  await accessible(page, 'an account');
  await picture('account');
  step('a button of a surface acts');
  for (const [question, shown] of [
    ['@bank show my credit card', '.sf-used progress'],
    ['@bank my mortgage', '.sf-facts'],
    ['@bank my savings', '.sf-facts'],
    ['@bank latest transactions', '.sf-line'],
  ]) {
    await say(question);
    await last().locator(shown).first().waitFor();
  }
  step('every template is drawn');

  // What grows at the end, as Apps do when they are told how high they are, is
  // followed by who reads there, and by nobody who went up.
  const talk = page.locator('.talk');
  const grow = () =>
    last().evaluate(async (e) => {
      const app = e.appendChild(document.createElement('div'));
      for (let height = 0; height <= 1200; height += 120) {
        app.style.height = `${height}px`;
        await new Promise((done) => requestAnimationFrame(done));
      }
    });
  const below = () => talk.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
  await until('the end', async () => (await below()) < 2);
  await grow();
  await until('what grew is followed', async () => (await below()) < 2);
  await last().evaluate((e) => {
    // It shrinks and grows before the next frame: the browser scrolls up in between.
    const app = e.lastElementChild;
    app.style.height = '0';
    void e.offsetHeight;
    app.style.height = '2400px';
  });
  await until('what shrank and grew is followed', async () => (await below()) < 2);
  await talk.evaluate((e) => e.scrollBy(0, -400));
  await page.getByRole('button', { name: 'Scroll to the latest message' }).waitFor();
  await grow();
  assert.ok((await below()) > 1200, 'who reads above is left there');
  await page.getByRole('button', { name: 'Scroll to the latest message' }).click();
  await until('the end again', async () => (await below()) < 2);
  step('what grows is followed');

  // What is not known has its place, is told once, and the rest works.
  const odd = await api('POST', '/rooms', { name: 'Odd things', members: [{ agent: 'odd' }] });
  await page.goto(`${origin}/chat/${odd.id}`);
  await field.waitFor();
  await say('show me');
  await page.locator('[data-unknown="acme:Gauge"]').waitFor();
  await page.locator('.said-system').filter({ hasText: 'no component acme:Gauge' }).waitFor();
  await page.reload();
  await page.locator('[data-unknown="acme:Gauge"]').waitFor();
  await page.locator('.said-system').filter({ hasText: 'acme:Gauge' }).first().waitFor();
  assert.equal(await page.locator('.said-system').filter({ hasText: 'acme:Gauge' }).count(), 1);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  const surface = page.locator('.surface').last();
  await surface.getByLabel('Name').fill('Al');
  await surface.getByLabel('Name').blur();
  await surface.getByText('Three letters at least.').waitFor();
  const order = surface.getByRole('button', { name: 'Order', exact: true });
  assert.ok(await order.isDisabled(), 'a check that does not hold keeps a button from being pressed');
  await surface.getByLabel('Name').fill('Grace');
  await surface.getByRole('radio', { name: 'Cake' }).check();
  await surface.getByRole('button', { name: 'Hot' }).click();
  await surface.getByLabel('I agree').check();
  await surface.getByRole('tab', { name: 'Second' }).click();
  await surface.getByText('The second part').waitFor();
  await surface.getByRole('button', { name: 'Open a dialog' }).click();
  await page.getByRole('dialog').getByText('Inside the dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await accessible(page, 'everything');
  await picture('everything');
  await order.click();
  await page.getByText('Grace has cake, extras hot, agreed true.').waitFor();
  await idle();
  step('an unknown component has its place, and the rest works');

  // An agent is published by a switch, and its card is where the page says.
  await page.goto(`${origin}/agents/odd?tab=published`);
  const published = page.getByRole('switch', { name: 'Published' });
  await published.waitFor();
  const cardOf = (path) => fetch(`http://127.0.0.1:${new URL(origin).port}${path}`); // as another party would: with no key
  assert.equal((await cardOf('/a2a/odd/.well-known/agent-card.json')).status, 404);
  await published.click();
  const card = page.getByRole('link', { name: '/a2a/odd/.well-known/agent-card.json' });
  await card.waitFor();
  const read = await (await cardOf(new URL(await card.getAttribute('href')).pathname)).json();
  assert.equal(read.name, 'odd');
  await accessible(page, 'a published agent');
  await picture('published', page.locator('main'));
  step('an agent is published');

  // An agent elsewhere takes a model's place.
  await page.goto(`${origin}/models?new=1`);
  const adding = page.getByRole('dialog', { name: 'Add a model' });
  await adding.getByLabel('Name', { exact: true }).fill('clerk');
  await adding.getByLabel('Model', { exact: true }).waitFor();
  await adding.getByLabel('API').selectOption('a2a');
  await adding.getByLabel('Model', { exact: true }).waitFor({ state: 'detached' });
  const add = adding.getByRole('button', { name: 'Add', exact: true });
  assert.ok(await add.isDisabled(), 'an agent elsewhere has an address');
  await accessible(page, 'an agent elsewhere is added');
  await picture('elsewhere', adding);
  await adding.getByLabel('Address', { exact: true }).fill('http://127.0.0.1:1/a2a/clerk/');
  await add.click();
  await adding.waitFor({ state: 'detached' });
  const row = page.locator('.line').filter({ hasText: 'http://127.0.0.1:1/a2a/clerk/' });
  await row.getByText('a2a', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Test' }).click();
  await row.getByText('does not answer').waitFor(); // nobody allowed that address
  await accessible(page, 'models');
  await picture('models', page.locator('main'));
  step('an agent elsewhere is a model');

  assert.deepEqual(foreign, [], 'nothing was fetched from anywhere else');
  assert.deepEqual(faults, []);
} catch (e) {
  if (shots) await page.screenshot({ path: `${shots}/failed.png` });
  console.log(await page.locator('.talk-inner').innerText().catch(() => ''));
  throw e;
} finally {
  await browser.close();
}
