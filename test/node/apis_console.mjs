// An API's documentation becomes a server, as people do it.
// node apis_console.mjs LINK URL-OF-THE-API KEY LARGE-DOCUMENT [FOLDER-FOR-PICTURES]
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { accessible, open, signIn } from './browser.mjs';

const [link, api, key, large, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const button = (name) => page.getByRole('button', { name, exact: true });
const tab = (name) => page.getByRole('tab', { name });
const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();
// lineChosen waits until the chosen line is in view and its text is as expected. A long
// line is drawn in several rows.
const lineChosen = (expected) =>
  page.waitForFunction(
    ([source]) => new RegExp(source).test([...document.querySelectorAll('.source [aria-current]')].map((row) => row.innerText).join('').replace(/\s+/g, ' ')),
    [expected.source],
  );

// look fails where a page keeps people out, or is too wide, and takes pictures
// where they are wanted.
async function look(name) {
  for (const [colorScheme, width] of [['dark', 390], ['light', 1440]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await page.waitForTimeout(600); // colours change over a moment
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
    if (width === 390) await accessible(page, `${name}, dark and narrow`); // light ones are in screens.mjs
    if (!folder) continue;
    mkdirSync(folder, { recursive: true });
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
  }
}

try {
  await signIn(page, link);

  step('the address of a specification, pasted where servers are added, is known for what it is');
  await page.goto(`${origin}/servers/add`);
  await page.getByLabel('URL').evaluate((field, text) => {
    const data = new DataTransfer();
    data.setData('text', text);
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, `${api}/openapi.yaml`);
  await page.getByLabel('URL of the documentation').waitFor();
  assert.equal(await page.getByLabel('URL of the documentation').inputValue(), `${api}/openapi.yaml`);

  step('it is read, and nothing is added');
  await button('Read').click();
  await page.getByRole('list', { name: 'Operations' }).waitFor();
  await page.getByText('OpenAPI 3.0.3').waitFor();
  await page.getByText('list_items', { exact: true }).waitFor();
  await look('api-preview');
  await tab(/^Data models/).click();
  await page.getByText('Item', { exact: true }).waitFor();
  await tab(/^Authentication/).click();
  await page.getByText('5 operations').waitFor();

  step('a problem stands beside its line');
  await tab(/^Problems/).click();
  const lines = (await (await fetch(`${api}/openapi.yaml`)).text()).split('\n');
  const wrong = lines.findIndex((l) => l.includes('schemas/Thing')) + 1;
  const problem = page.getByRole('button', { name: /unresolved_ref/ }).first();
  await problem.click();
  assert.match(await problem.innerText(), new RegExp(`\\b${wrong}:\\d+`));
  await lineChosen(new RegExp(`^${wrong} .*schemas/Thing`));
  await look('api-problems');

  step('what the API wants is entered, and it is added');
  await page.getByLabel('Authentication scheme').selectOption('key');
  await page.getByLabel('Secret').fill(key);
  await page.getByLabel('Base URL of the API').fill(`${api}/v1`);
  const add = button('Add shop');
  assert.ok(await add.isDisabled(), 'what was changed can be added unseen');
  await button('Update the preview').click();
  await page.getByText('The server is added as shown in the preview.').waitFor();
  await add.click();
  await page.waitForURL(`${origin}/servers/shop`);
  await heading('Shop');
  await page.getByText('list_items', { exact: true }).first().waitFor();
  await accessible(page, 'a generated server');
  quiet('while it was added');

  step('an improvement is accepted');
  await tab('Edit').click();
  await button('Accept no_description of add_picture').click();
  await button('Accept no_description of add_picture').waitFor({ state: 'detached' });

  step('a tool is renamed, described, and sorted');
  await page.getByLabel('Find a tool').fill('list_items');
  await page.getByRole('region', { name: 'Tools to edit' }).getByRole('button', { name: /list_items/ }).click();
  await page.getByLabel('Name', { exact: true }).fill('all_goods');
  await page.getByLabel('Description', { exact: true }).fill('Everything that the shop sells.');
  // The notice of the change comes within 2 s. Until the server and its tools are read again,
  // nothing asks for the tool by its old name.
  await page.route((url) => ['/api/v1/tools', '/api/v1/servers/shop'].includes(url.pathname), async (route) => {
    if (route.request().method() === 'GET') await new Promise((resolve) => setTimeout(resolve, 3000));
    await route.continue();
  });
  await button('Save the tool').click();
  await page.getByRole('heading', { name: 'all_goods' }).waitFor();
  await page.locator('a[href*="playground?name=shop__all_goods"]').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  quiet('while a tool was renamed');
  await page.getByLabel('Category').fill('Goods');
  await button('Save', { exact: true }).click();
  await page.getByText('Set by a user', { exact: true }).waitFor();
  await look('api-edit');

  step('a model suggests, and a person decides');
  await button('Ask a model').click();
  await page.getByText('The model suggests changes for 2 tools. 1 suggestion could not be used').waitFor();
  await page.getByRole('heading', { name: '2 suggestions of a model' }).waitFor();
  await page.getByText('Find <b>anything</b>.').waitFor();
  await look('api-suggested');
  await button('Reject search').click();
  await button('Reject search').waitFor({ state: 'detached' });
  await button('Approve get_item').click();
  await button('Approve get_item').waitFor({ state: 'detached' });
  await page.getByLabel('Find a tool').fill('look_at_item');
  await page.getByRole('region', { name: 'Tools to edit' }).getByRole('button', { name: /look_at_item/ }).waitFor();
  await page.getByLabel('Find a tool').fill('all_goods');
  quiet('while a model was asked');

  step('it is called in the playground');
  await page.getByRole('link', { name: 'Try the tool' }).click();
  await page.waitForURL(/playground/);
  await page.getByLabel('Arguments as JSON').fill('{"X-Trace":"from the console"}');
  await button('Run').click();
  await page.getByText('success', { exact: true }).first().waitFor();
  await page.getByText('kite').first().waitFor();
  assert.ok(!(await page.content()).includes(key), 'a secret is on the page');
  quiet('while it was called');

  step('the document changes, and what differs is seen before it is taken over');
  await fetch(`${api}/change`, { method: 'POST' });
  await page.goto(`${origin}/servers/shop?tab=document`);
  await button('Update').click();
  await button('Show changes').click();
  const differs = page.getByRole('region', { name: 'Changes' });
  await differs.getByText('opening_hours').waitFor();
  await page.getByText('1 added, 1 changed, 1 removed').waitFor();
  await page.getByText('2 breaking', { exact: true }).waitFor();
  await differs.getByText('the argument cursor is now required').waitFor();
  const take = button('Apply');
  assert.ok(await take.isDisabled(), 'what breaks callers is taken over unasked');
  await look('api-diff');
  await page.getByLabel(/existing callers may fail/).check();
  await take.click();
  await differs.waitFor({ state: 'detached' });
  await tab(/^Tools/).click();
  await page.getByText('opening_hours', { exact: true }).first().waitFor();
  await page.getByText('all_goods', { exact: true }).first().waitFor(); // what people say stays
  assert.equal(await page.getByText('delete_item', { exact: true }).count(), 0);
  quiet('while it was read again');

  step('people log in where a document says');
  await page.goto(`${origin}/servers/add?how=api`);
  await page.getByText('File or text').click();
  await page.getByLabel('Text', { exact: true }).fill(`openapi: 3.1.0
info: {title: Diary, version: "1"}
servers: [{url: "${api}/v1"}]
security: [{people: [read]}]
paths: {/days: {get: {operationId: days, responses: {"200": {description: ok}}}}}
components: {securitySchemes: {people: {type: oauth2, flows: {authorizationCode: {authorizationUrl: "${api}/in", tokenUrl: "${api}/token", scopes: {read: look}}}}}}`);
  await button('Read').click();
  await page.getByLabel('Authentication scheme').selectOption('people');
  await page.getByText(`${origin.replace('console.junctor.localhost', '127.0.0.1')}/connected`).waitFor();
  assert.ok(await button('Add diary').isDisabled(), 'a login without a client can be added');
  await page.getByLabel('Client ID').fill('junctor');
  await button('Add diary').click();
  await page.waitForURL(`${origin}/servers/diary?tab=sign-in`);
  await page.getByText('not logged in').first().waitFor();

  step('what no reader takes is written down by hand');
  await page.goto(`${origin}/servers/add?how=api`);
  await page.getByText('File or text').click();
  await page.getByLabel('Text', { exact: true }).fill('We are open from nine to five.');
  await button('Read').click();
  await page.getByText('Format not recognized').waitFor();
  assert.ok((await page.getByRole('list', { name: 'Tried readers' }).getByRole('listitem').count()) > 5);
  await look('api-none');
  await button('Enter operations').click();
  await page.getByLabel('Name of the API').fill('Hours');
  await page.getByLabel('Path 1', { exact: true }).fill('/hours/{day}');
  await page.getByLabel('Description of operation 1').fill('When the shop is open');
  assert.equal(await page.getByLabel('Name of parameter 1 of operation 1').inputValue(), 'day');
  await look('api-table');
  await button('Read').click();
  await page.getByLabel('Base URL of the API').fill(`${api}/v1`);
  await button('Update the preview').click();
  await button('Add hours').click();
  await page.waitForURL(`${origin}/servers/hours`);
  await page.getByRole('list', { name: 'Tools' }).getByRole('link').first().click();
  await page.getByRole('link', { name: 'Try the tool' }).click();
  await page.locator('form').getByRole('textbox').first().fill('monday');
  await button('Run').click();
  await page.getByText('9 to 5').first().waitFor();

  step('a document of 13 MB is looked at to its end');
  await page.goto(`${origin}/servers/add?how=api`);
  await page.getByText('File or text').click();
  await page.getByLabel('File of the document').setInputFiles(large);
  await page.getByRole('region', { name: 'Document' }).waitFor();
  await button('Read').click();
  await page.getByRole('list', { name: 'Operations' }).waitFor();
  await tab(/^Problems/).click();
  const far = readFileSync(large, 'utf8').split('\n').findIndex((l) => l.includes('schemas/Nowhere')) + 1;
  await page.getByRole('button', { name: /Nowhere/ }).first().click();
  await lineChosen(new RegExp(`^${far} .*Nowhere`));
  const drawn = await page.locator('.source .lines > div').count();
  assert.ok(drawn < 200, `${drawn} lines are drawn`);
  quiet('at the end');
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 2500)}`);
  if (faults.length) console.error(faults.join('\n'));
  process.exitCode = 1;
}
await browser.close();
