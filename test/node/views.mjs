// Generated Views through the gateway, in a host of our own: node views.mjs URL KEY
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { barriers, open, watch } from './browser.mjs';
import { host } from './view_host.mjs';

const [base, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const ui = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
async function connect(capabilities, mode) {
  const client = new Client({ name: 'views', version: '1' }, { capabilities, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers } }));
  return client;
}
const api = async (method, path, body) => {
  const r = await fetch(`${base}/api/v1${path}`, { method, headers: { ...headers, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  assert.ok(r.ok, `${method} ${path}: ${r.status} ${r.ok ? '' : await r.text()}`);
};
const pageOf = (tool) => tool?._meta?.ui?.resourceUri;
const step = (text) => console.log(text);

// Who is told of the page. Each looks with a client of its own: clients remember
// lists.
const modern = { pin: '2026-07-28' };
async function listed(capabilities, mode) {
  const c = await connect(capabilities, mode);
  try {
    return new Map((await c.listTools()).tools.map((t) => [t.name, t]));
  } finally {
    await c.close();
  }
}
const client = await connect(ui, modern);
let tools = await listed(ui, modern);
const page = 'ui://shop/junctor-view/auto.html';
assert.equal(pageOf(tools.get('shop__list_pets')), page);
assert.equal(pageOf((await listed(ui, 'legacy')).get('shop__list_pets')), page);
assert.equal(pageOf(tools.get('hard__nasty')), 'ui://hard/junctor-view/auto.html');
assert.equal(pageOf(tools.get('hard__silent')), undefined);
for (const mode of [modern, 'legacy']) assert.equal(pageOf((await listed({}, mode)).get('shop__list_pets')), undefined, 'a client without Apps is told nothing');
await client.callTool({ name: 'hard__silent', arguments: {} });
for (let i = 0; pageOf((await listed(ui, modern)).get('hard__silent')) === undefined; i++) {
  assert.ok(i < 300, 'a tool that answered data has its page');
  await new Promise((r) => setTimeout(r, 200));
}
await api('PATCH', '/servers/shop', { views: 'off' });
assert.equal(pageOf((await listed(ui, modern)).get('shop__list_pets')), undefined, 'off is off');
await assert.rejects(client.readResource({ uri: page }));
await api('PATCH', '/servers/shop', { views: 'on' });
tools = await listed(ui, modern);
const read = await client.readResource({ uri: page });
assert.equal(read.contents[0].mimeType, 'text/html;profile=mcp-app');
const html = read.contents[0].text;
step('who is told of the page');

// show opens a View of a call as a host would.
const { browser } = await open();
async function show(name, args = {}, options = {}) {
  const result = await client.callTool({ name, arguments: args });
  const context = await browser.newContext({ viewport: { width: options.width ?? 1440, height: 900 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(90_000);
  const tab1 = await context.newPage();
  const faults = [];
  watch(tab1, faults);
  const view = await host(tab1, {
    html, tool: tools.get(name), args, result, context: options.context,
    answers: {
      'tools/list': () => ({ tools: [...tools.values()] }),
      'tools/call': (p) => client.callTool(p),
      'ui/open-link': () => ({}),
    },
  });
  await view.frame.getByRole('tab').first().waitFor();
  const calls = () => view.asked.filter((a) => a.method === 'tools/call').map((a) => [a.params.name, a.params.arguments]);
  const tab = (name1) => view.frame.getByRole('tab', { name: name1, exact: true }).click();
  const done = async () => {
    assert.deepEqual(faults, [], name);
    assert.deepEqual(view.leaked, [], `${name} asked for something outside`);
    assert.equal(await view.frame.evaluate(() => window.__xss ?? {}.polluted), undefined, `${name} ran what it was told`);
    assert.equal(await tab1.evaluate(() => window.__xss), undefined);
    assert.equal(await view.frame.locator('script').count(), 2, 'the bridge and the page');
    assert.equal(await view.frame.locator('iframe, object, embed, link, [onerror], [onload]').count(), 0);
    await context.close();
  };
  return { ...view, calls, tab, done };
}
const many = (frame) => frame.evaluate(() => document.querySelectorAll('*').length);

try {
  // A table: numbers aligned, sorted, filtered, the next page, a row, the call that it leads to.
  let v = await show('shop__list_pets');
  await v.frame.getByRole('heading', { name: 'List pets' }).waitFor();
  assert.equal(await v.frame.locator('tbody tr').count(), 25);
  assert.deepEqual(await v.frame.locator('td[data-column=price]').first().evaluate((td) => [getComputedStyle(td).textAlign, td.textContent]), ['end', '0.00']);
  assert.equal(await v.frame.locator('td[data-column=born]').first().textContent(), 'Mar 1, 2024');
  await v.frame.getByRole('button', { name: 'Price' }).click();
  assert.equal(await v.frame.locator('td[data-column=price]').first().textContent(), '36,257.25');
  await v.frame.getByRole('searchbox').fill('pet 17');
  await v.frame.getByText('1–1 of 1').waitFor();
  assert.deepEqual(await barriers(v.frame, 'table'), []);
  await v.frame.getByRole('button', { name: 'Open' }).click();
  await v.frame.getByRole('button', { name: 'Get pet', exact: true }).click();
  await v.frame.getByRole('heading', { name: 'Get pet' }).waitFor();
  assert.deepEqual(v.calls(), [['shop__get_pet', { petId: 17 }]]);
  assert.equal(await v.frame.locator('dd[data-field=name]').textContent(), 'Pet 17');
  await v.tab('Map');
  assert.equal(await v.frame.locator('.mark').count(), 1);
  await v.tab('Details');
  await v.frame.getByRole('button', { name: 'Delete pet' }).click();
  await v.frame.getByRole('button', { name: 'Call' }).click();
  assert.equal(v.calls().length, 1, 'what changes something is asked about once more');
  await v.frame.getByRole('button', { name: 'Call, and change it' }).click();
  await v.frame.getByText('HTTP 204').waitFor();
  assert.deepEqual(v.calls().at(-1), ['shop__delete_pet', { petId: 17 }]);
  for (const heading of ['Get pet', 'List pets']) {
    await v.frame.getByRole('button', { name: 'Back' }).click();
    await v.frame.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor();
  }
  await v.frame.getByRole('button', { name: 'Next page' }).click();
  await v.frame.getByText('Pet 30', { exact: true }).waitFor();
  assert.deepEqual(v.calls().at(-1), ['shop__list_pets', { page: 2 }]);
  await v.done();
  step('table, record, next page, next call');

  // A form, with what is wrong in it.
  v = await show('shop__list_pets', { page: 3 });
  await v.tab('Call');
  assert.equal(await v.frame.getByLabel('Page').inputValue(), '3');
  await v.frame.getByLabel('Page').fill('0');
  await v.frame.getByRole('button', { name: 'Call' }).click();
  await v.frame.getByText('This is at least 1.').waitFor();
  await v.frame.getByLabel('Page').fill('5');
  await v.frame.getByLabel('Species').selectOption('cat');
  assert.deepEqual(await barriers(v.frame, 'form'), []);
  await v.frame.getByRole('button', { name: 'Call' }).click();
  await v.frame.getByText('Pet 120', { exact: true }).waitFor();
  assert.deepEqual(v.calls(), [['shop__list_pets', { page: 5, species: 'cat' }]]);
  await v.done();
  step('form');

  // Chart and map come first where they say most.
  v = await show('shop__get_forecast');
  await v.frame.locator('path.line').waitFor();
  await v.frame.getByRole('checkbox', { name: 'Temperature' }).check();
  assert.equal(await v.frame.locator('path.line').count(), 2);
  assert.deepEqual(await barriers(v.frame, 'chart'), []);
  await v.done();
  v = await show('shop__list_offices', {}, { width: 390, context: { theme: 'dark' } });
  assert.equal(await v.frame.locator('.mark').count(), 3);
  await v.frame.getByRole('button', { name: 'Lima' }).click();
  await v.frame.getByText('(-12.0500, -77.0400)').waitFor();
  assert.equal(await v.frame.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
  assert.deepEqual(await barriers(v.frame, 'map'), []);
  await v.done();
  step('chart and map');

  // Narrow: nothing is wider than the View, and short words are whole.
  v = await show('shop__list_pets', {}, { width: 390 });
  assert.ok(await v.frame.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'the page is not wider than its frame');
  const lines = await v.frame.locator('td[data-column=name]').evaluateAll((cells) => cells.map((c) => c.getClientRects()[0].height));
  assert.ok(Math.max(...lines) < 60, `a short name takes one line: ${lines}`);
  await v.done();
  step('narrow');

  // Hostile answers are text.
  v = await show('hard__nasty');
  await v.frame.getByText('<script>window.__xss=1</script>').first().waitFor();
  for (const name of ['Table', 'Raw']) await v.tab(name);
  await v.tab('Table');
  await v.frame.getByRole('button', { name: 'Open' }).first().click();
  await v.frame.getByRole('button', { name: 'leak.test/page' }).click();
  for (let i = 0; !v.asked.some((a) => a.method === 'ui/open-link'); i++) {
    assert.ok(i < 600);
    await new Promise((r) => setTimeout(r, 100));
  }
  assert.deepEqual(v.asked.filter((a) => a.method === 'ui/open-link').map((a) => a.params.url), ['https://leak.test/page'], 'a link is the host’s to open');
  assert.equal(await v.frame.locator('a[href], img').count(), 0);
  await v.done();
  step('hostile');

  // Ten thousand rows are as light as twenty-five.
  v = await show('hard__many');
  await v.frame.getByText('1–25 of 10,000').waitFor();
  const light = await many(v.frame);
  assert.ok(light < 1000, `${light} elements`);
  await v.frame.getByRole('button', { name: 'Amount' }).click();
  await v.frame.getByText('Row 9999', { exact: true }).waitFor();
  await v.frame.getByRole('searchbox').fill('row 777');
  await v.frame.getByText('1–11 of 11').waitFor();
  await v.tab('Chart');
  await v.frame.locator('path.line').waitFor();
  assert.ok((await v.frame.locator('path.line').getAttribute('d')).split('L').length <= 602);
  await v.tab('Map');
  await v.frame.locator('.mark').first().waitFor();
  assert.ok((await many(v.frame)) < 6000, 'near places stand as one');
  await v.tab('Raw');
  await v.frame.getByText('There is more of it than is shown here.').waitFor();
  await v.done();
  step(`ten thousand rows: ${light} elements`);

  // Depth costs nothing until it is opened, and wrong types are drawn as what they are.
  v = await show('hard__deep');
  await v.frame.locator('dd[data-field=tree] summary').first().waitFor();
  assert.ok((await many(v.frame)) < 200);
  await v.tab('Raw');
  await v.done();
  v = await show('hard__wrong');
  await v.tab('Details');
  await v.frame.locator('dd[data-field=items]').waitFor();
  assert.equal(await v.frame.locator('dd[data-field=items]').textContent(), 'no list');
  await v.done();
  step('deep and wrong');
} finally {
  await browser.close();
  await client.close();
}
