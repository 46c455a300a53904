// Two admins who change the same things at the same time: one in the browser, the other
// by the API with a key.
// node conflict_console.mjs LINK URL-OF-THE-INSTANCE KEY [FOLDER-OF-PICTURES]
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { accessible, open, signIn } from './browser.mjs';

const [link, instance, key, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const button = (name) => page.getByRole('button', { name, exact: true });
const field = (name) => page.getByLabel(name, { exact: true });
const dialog = page.getByRole('dialog', { name: 'Someone else changed this' });

// api is the other admin.
async function api(method, path, body) {
  const res = await fetch(`${instance}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.ok(res.ok, `${method} ${path}: ${res.status} ${await res.clone().text()}`);
  return res.json();
}

// saved presses a button and gives the status of the change.
async function saved(press, path) {
  const [res] = await Promise.all([
    page.waitForResponse((r) => r.url().endsWith(path) && ['PATCH', 'PUT'].includes(r.request().method())),
    press.click(),
  ]);
  return { status: res.status(), match: await res.request().headerValue('if-match') };
}

const row = (name) => dialog.getByRole('row').filter({ has: page.getByRole('cell', { name: new RegExp(`^${name}( both changed)?$`) }) });
const cells = async (name) => (await row(name).getByRole('cell').allInnerTexts()).slice(1);

// look fails where the dialog keeps people out or is too wide, and takes pictures where
// they are wanted.
async function look(name) {
  for (const colorScheme of ['light', 'dark'])
    for (const width of [390, 1440]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.waitForTimeout(500); // colours change over a moment
      const wide = await dialog.evaluate((d) => d.scrollWidth - d.clientWidth);
      assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
      await accessible(page, `${name}, ${colorScheme}, ${width} px`);
      if (!folder) continue;
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png` });
    }
}

try {
  await signIn(page, link);
  await page.goto(`${origin}/servers/notes?tab=settings`);

  step('what is typed survives that a neighbouring control is saved');
  await field('Title').fill('Mine');
  const views = page.getByRole('switch', { name: 'Generate Apps for its tools' });
  const read = page.waitForResponse(
    // An answer may be 304, or be replaced before its body is read: then there is another one.
    async (r) => r.url().endsWith('/api/v1/servers/notes') && r.request().method() === 'GET' && (await r.json().catch(() => ({}))).views === 'off',
  );
  await views.click();
  await read;
  await page.locator('input[role=switch]:not(:checked):not(:disabled)').first().waitFor();
  assert.equal(await field('Title').inputValue(), 'Mine', 'what was typed is gone');
  const first = await saved(button('Save'), '/servers/notes');
  assert.equal(first.status, 200, 'a change of one’s own stands in the way');
  assert.match(first.match, /^"\d{4}-/, 'the form names the version that it changes');
  assert.deepEqual([(await api('GET', '/servers/notes')).title, (await api('GET', '/servers/notes')).views], ['Mine', 'off']);

  step('both change the title: both sides are shown, and merging keeps ours');
  await field('Title').fill('Ours');
  await api('PATCH', '/servers/notes', { title: 'Theirs', call_timeout: '7s' });
  assert.equal((await saved(button('Save'), '/servers/notes')).status, 412);
  await dialog.waitFor();
  await look('conflict');
  assert.deepEqual(await cells('Title'), ['Ours', 'Theirs']);
  assert.deepEqual(await cells('Call timeout'), ['not changed', '7s']);
  assert.equal((await api('GET', '/servers/notes')).title, 'Theirs', 'something was stored before anybody was asked');
  assert.equal((await saved(dialog.getByRole('button', { name: 'Merge' }), '/servers/notes')).status, 200);
  await dialog.waitFor({ state: 'hidden' });
  const merged = await api('GET', '/servers/notes');
  assert.deepEqual([merged.title, merged.call_timeout], ['Ours', '7s']);
  assert.equal(await field('Call timeout').inputValue(), '7s');

  step('reloading takes theirs');
  await field('Title').fill('Ours again');
  await api('PATCH', '/servers/notes', { title: 'Theirs again' });
  assert.equal((await saved(button('Save'), '/servers/notes')).status, 412);
  await dialog.getByRole('button', { name: 'Back to the form' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal(await field('Title').inputValue(), 'Ours again', 'what was typed is gone');
  assert.equal((await saved(button('Save'), '/servers/notes')).status, 412);
  await dialog.getByRole('button', { name: 'Reload' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal(await field('Title').inputValue(), 'Theirs again');
  assert.equal((await api('GET', '/servers/notes')).title, 'Theirs again');

  step('a member who was taken out of a room stays out of it when the room is renamed');
  const users = (await api('GET', '/users')).items;
  const [ada, vera] = ['ada', 'vera'].map((name) => ({ user: users.find((u) => u.name === name).id }));
  const room = await api('POST', '/rooms', { name: 'Planning', members: [ada, vera] });
  await page.goto(`${origin}/chat/${room.id}`);
  await page.getByRole('button', { name: 'More about this room' }).click();
  await page.getByRole('menuitem', { name: 'Settings' }).click();
  await field('Name').fill('Plans');
  await api('PATCH', `/rooms/${room.id}`, { members: [ada] });
  assert.equal((await saved(button('Save'), `/rooms/${room.id}`)).status, 412);
  await dialog.waitFor();
  await look('conflict-room');
  assert.equal((await cells('Name'))[0], 'Plans');
  assert.equal((await saved(dialog.getByRole('button', { name: 'Merge' }), `/rooms/${room.id}`)).status, 200);
  await dialog.waitFor({ state: 'hidden' });
  const after = await api('GET', `/rooms/${room.id}`);
  assert.deepEqual([after.name, after.members.map((m) => m.user)], ['Plans', [ada.user]]);

  assert.deepEqual(faults.filter((f) => !/412/.test(f)), []);
} finally {
  await browser.close();
}
