// What asks before it is done, and what can be undone.
// node safety_console.mjs LINK
import assert from 'node:assert/strict';
import { accessible, open, signIn } from './browser.mjs';

const [link] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const heading = (name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
const button = (name) => page.getByRole('button', { name, exact: true });
const dialog = page.getByRole('dialog');
const inDialog = (name) => dialog.getByRole('button', { name, exact: true });
const messages = page.getByRole('region', { name: 'Messages' });

// api makes a request as the page does.
const api = (method, path, body) =>
  page.evaluate(
    async ([m, p, b]) => {
      const res = await fetch(`/api/v1${p}`, {
        method: m,
        headers: { 'Content-Type': 'application/json', 'X-Junctor-Console': '1' },
        body: b === undefined ? undefined : JSON.stringify(b),
      });
      const text = await res.text();
      return { status: res.status, body: text ? JSON.parse(text) : null };
    },
    [method, path, body],
  );
const read = async (path) => (await api('GET', path)).body;
// until waits for what the API has.
async function until(what, holds) {
  for (let i = 0; i < 300; i++) {
    if (await holds()) return;
    await page.waitForTimeout(100);
  }
  throw new Error(`not after 30 s: ${what}`);
}
// forgive removes the notes of the browser about answers that a step expects.
const forgive = (status) => faults.splice(0, faults.length, ...faults.filter((f) => !f.includes(String(status))));

// undone selects Undo in the message that has a text.
async function undone(text) {
  const message = messages.locator('.toast').filter({ hasText: text });
  await message.waitFor();
  await message.hover(); // it stays while the pointer is on it
  await message.getByRole('button', { name: 'Undo' }).click();
  await message.waitFor({ state: 'detached' });
  await messages.getByText('Undone').last().waitFor();
}

// asks opens a question, looks at it, cancels it, and answers it.
async function asks(name, open, question, act, unchanged) {
  await open();
  await dialog.getByText(question).waitFor();
  await accessible(page, name);
  await inDialog('Cancel').click();
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(await unchanged(), `${name}: Cancel changed something`);
  await open();
  await inDialog(act).click();
  await dialog.waitFor({ state: 'hidden' });
}

const menuOf = async (name, item) => {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

try {
  await signIn(page, link);
  await api('POST', '/triggers', { name: 'hello', match: { type: 'greeting' }, action: { server: 'demo', tool: 'echo', template: { text: 'hello' } } });
  await api('POST', '/sources', { id: 'billing', style: 'standard', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
  await api('PUT', '/schedules/nightly', { cron: '0 3 * * *', type: 'report.due' });
  await api('POST', '/agents', { name: 'clerk', role: 'QA', tools: ['demo/echo'] });

  step('a trigger is switched off and on again by Undo, in the list and on its page');
  await page.goto(`${origin}/triggers`);
  await page.getByRole('switch', { name: 'Enable hello' }).press('Space');
  await messages.getByText('hello is disabled').hover();
  await accessible(page, 'a message');
  await undone('hello is disabled');
  await until('the trigger is on', async () => !(await read('/triggers/hello')).disabled);
  await page.goto(`${origin}/triggers/hello`);
  await page.getByRole('switch', { name: 'Enabled' }).press('Space');
  await undone('hello is disabled');
  await until('the trigger is on', async () => !(await read('/triggers/hello')).disabled);

  step('a trigger is deleted after a question, and comes back as it was');
  const before = await read('/triggers/hello');
  await button('Delete').click();
  await dialog.getByText('Delete hello?').waitFor();
  await inDialog('Delete').click();
  await heading('Triggers');
  await undone('hello is deleted');
  await until('the trigger is stored again', async () => (await read('/triggers/hello')).match);
  const again = await read('/triggers/hello');
  assert.deepEqual([again.match, again.action], [before.match, before.action]);

  step('a server and an agent are switched off and on again');
  for (const [path, list, on] of [['/servers/demo', '/servers/demo', (o) => o.state === 'active'], ['/agents/clerk', '/agents/clerk', (o) => !o.disabled]]) {
    await page.goto(origin + path);
    await page.getByRole('switch', { name: 'on' }).press('Space');
    await until(`${path} is off`, async () => !on(await read(list)));
    await undone('is disabled');
    await until(`${path} is on`, async () => on(await read(list)));
  }

  step('a schedule is deleted and comes back');
  await page.goto(`${origin}/sources`);
  await menuOf('nightly', 'Disable');
  await undone('nightly is disabled');
  await until('the schedule is on', async () => !(await read('/schedules')).items[0].disabled);
  await page.locator('.rows').getByText('off', { exact: true }).waitFor({ state: 'detached' });
  await menuOf('nightly', 'Delete');
  await undone('nightly is deleted');
  await until('the schedule is stored again', async () => (await read('/schedules')).items.length === 1);
  const [nightly] = (await read('/schedules')).items;
  assert.deepEqual([nightly.name, nightly.cron, Boolean(nightly.disabled)], ['nightly', '0 3 * * *', false]);

  step('a source is deleted after a question, because its secret is gone then');
  await asks('a source is deleted', () => menuOf('billing', 'Delete'), 'Delete billing?', 'Delete', async () => (await read('/sources')).items.length === 1);
  await messages.getByText('billing is deleted').waitFor();
  await until('the source is gone', async () => (await read('/sources')).items.length === 0);

  step('the endpoint of an agent is removed after a question');
  await api('PUT', '/agent-tokens/trader', { url: 'http://127.0.0.1:9/mcp', token: 'x' });
  await page.goto(`${origin}/endpoints`);
  await asks('an endpoint is removed', () => button('Remove').click(), 'Remove the endpoint of trader?', 'Remove', async () => (await read('/agent-tokens')).items.length === 1);
  await until('the endpoint is gone', async () => (await read('/agent-tokens')).items.length === 0);

  step('a delivery is discarded after a question');
  await api('POST', '/endpoints/stop', { endpoint: 'server:demo' });
  await api('POST', '/events', { type: 'greeting', data: {} });
  let delivery;
  await until('there is a delivery', async () => (delivery = (await read('/deliveries?trigger=hello')).items[0]) !== undefined);
  await page.goto(`${origin}/deliveries/${delivery.id}`);
  await asks('a delivery is discarded', () => button('Discard').click(), 'Discard this delivery?', 'Discard', async () => (await read(`/deliveries/${delivery.id}`)).state !== 'dropped');
  await page.getByText('discarded', { exact: true }).waitFor();
  await api('POST', '/endpoints/start', { endpoint: 'server:demo' });

  step('limits that are removed come back');
  await api('PATCH', '/limits', { tiers: { slow: { per_second: 1 } } });
  await page.goto(`${origin}/settings?tab=limits`);
  await page.getByRole('row').filter({ hasText: 'slow' }).getByRole('button', { name: 'Edit' }).click();
  await inDialog('Remove').click();
  await undone('The limits of slow are removed');
  await until('the limits of slow are back', async () => (await read('/limits')).tiers.slow?.per_second === 1);

  step('servers and agents that are not in a file are removed after a question');
  await page.goto(`${origin}/settings?tab=files`);
  await page.getByLabel('Settings file').fill('agents: {}\n');
  await page.getByRole('checkbox', { name: 'Remove servers and agents that are not in the file' }).check();
  await button('Show changes').click();
  await page.getByRole('list', { name: 'Changes' }).getByText('clerk').waitFor();
  await asks('agents are removed', () => button('Apply').click(), 'clerk', 'Apply and remove', async () => (await read('/agents')).items.length === 1);
  await until('the agent is gone', async () => (await read('/agents')).items.length === 0);

  step('a form with changes asks before it is left: by the menu, a tab, and the button of the browser');
  await page.goto(`${origin}/triggers`);
  await page.getByRole('link', { name: 'hello', exact: true }).click();
  await heading('hello');
  const title = page.getByRole('textbox', { name: 'Title' });
  await title.fill('Greets');
  const menu = page.getByRole('navigation', { name: 'Screens' });
  for (const [name, leave] of [
    ['the menu', () => menu.getByRole('link', { name: 'Servers' }).click()],
    ['a tab', () => page.getByRole('tab', { name: 'Activity' }).click()],
    ['back', () => page.goBack()],
  ]) {
    await leave();
    await dialog.getByText('Discard unsaved changes?').waitFor();
    if (name === 'the menu') await accessible(page, 'unsaved changes');
    await inDialog('Keep editing').click();
    await dialog.waitFor({ state: 'hidden' });
    await heading('hello');
    assert.equal(await title.inputValue(), 'Greets', `${name} lost what was typed`);
    assert.equal(new URL(page.url()).pathname, '/triggers/hello', name);
  }
  await page.goBack();
  await inDialog('Discard changes').click();
  await heading('Triggers');
  assert.equal((await read('/triggers/hello')).title ?? '', '');

  step('a form that is saved asks nothing');
  await page.getByRole('link', { name: 'hello', exact: true }).click();
  await title.fill('Greets');
  await button('Save').click();
  await until('the title is stored', async () => (await read('/triggers/hello')).title === 'Greets');
  await menu.getByRole('link', { name: 'Tools' }).click();
  await heading('Tools');
  assert.equal(await dialog.count(), 0);
  // What a server that is switched off offers is asked for while its page does not know it yet.
  faults.splice(0, faults.length, ...faults.filter((f) => !/404.*\/servers\/demo\/offer/.test(f)));
  quiet('before the server refuses');

  step('a name of a tool that cannot be is refused at its field, with the reason');
  await page.goto(`${origin}/servers/notes?tab=settings`);
  const other = page.getByLabel('Name of search', { exact: true });
  await other.fill('search the notes!');
  await page.getByText('The new name of search is not possible. Use up to 64 letters, digits, _ and -.').waitFor();
  assert.equal(await other.getAttribute('aria-invalid'), 'true');
  assert.ok(await button('Save tools').isDisabled());
  const refused = await api('PATCH', '/servers/notes', { overrides: { search: { name: 'search the notes!' } } });
  assert.equal(refused.status, 422);
  assert.match(refused.body.detail, /overrides\.search\.name: "search the notes!" .*up to 64 letters/);
  assert.equal((await read('/servers/notes')).overrides?.search?.name, undefined);
  forgive(422);
  await other.fill('find');
  await button('Save tools').click();
  await until('the tool has its name', async () => (await read('/servers/notes')).overrides?.search?.name === 'find');

  step('what the server refuses of a field stands at the field');
  const wrong = async (label, text) => {
    const input = page.getByLabel(label, { exact: true }).last();
    await page.waitForFunction((e) => e.getAttribute('aria-invalid') === 'true', await input.elementHandle());
    const described = await input.evaluate((e) => (e.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent).join(' '));
    assert.match(described, text);
    assert.equal(await page.getByRole('alert').filter({ hasText: text }).count(), 0, 'it is said twice');
  };
  await page.goto(`${origin}/settings?tab=users`);
  await button('Add a user').click();
  await dialog.getByLabel('Name').fill('ada');
  await inDialog('Add user').click();
  await wrong('Name', /ada/);
  await accessible(page, 'an error at a field');
  await page.keyboard.press('Escape');
  await page.goto(`${origin}/servers/add`);
  await page.getByLabel('URL').fill((await read('/servers/notes')).url);
  await page.getByLabel('ID', { exact: true }).fill('notes');
  await button('Test connection').click();
  await button('Add notes').click();
  await wrong('ID', /notes/);
  forgive(409);
  forgive(422);
  quiet('at the end');
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`);
  if (faults.length) console.error(faults.join('\n'));
  if (process.env.FAILED_SHOT) await page.screenshot({ path: process.env.FAILED_SHOT, fullPage: true });
  process.exitCode = 1;
}
await browser.close();
