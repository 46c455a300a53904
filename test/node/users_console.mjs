// What an admin does with users, keys, sessions, roles and tenants, and what others see of it.
// node users_console.mjs users LINK | instance LINK | viewer LINK
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { accessible, open, signIn } from './browser.mjs';

const [what, link] = process.argv.slice(2);
const origin = new URL(link).origin;
const direct = `http://127.0.0.1:${new URL(link).port}`; // Node knows no *.localhost
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const heading = (name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
const button = (name) => page.getByRole('button', { name, exact: true });
const tab = (name) => page.getByRole('tab', { name, exact: true }).click();
const dialog = page.getByRole('dialog');
const inDialog = (name) => dialog.getByRole('button', { name, exact: true });

// act chooses an item of the menu of a page or row.
async function act(of, item) {
  await button(`Actions for ${of}`).click();
  await page.getByRole('menuitem', { name: item, exact: true }).click();
}

// look fails if a page keeps people out or is too wide, light and dark, wide and narrow.
async function look(name) {
  for (const [colorScheme, width] of [['dark', 390], ['light', 1440]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await page.waitForTimeout(200);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
    await accessible(page, `${name}, ${colorScheme}`);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name.replaceAll(' ', '-')}-${colorScheme}-${width}.png`, fullPage: true });
  }
}

// withKey makes a request as a program does, with a key.
const withKey = async (key, path, body) => {
  const res = await fetch(`${direct}/api/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${key}`, ...(body && { 'Content-Type': 'application/json' }) },
    body: body && JSON.stringify(body),
  });
  return { status: res.status, body: await res.json() };
};

// signInAs signs a user in to a browser of their own, and returns who the API says they are.
async function signInAs(address) {
  const other = await (await browser.newContext()).newPage();
  await signIn(other, address);
  const me = () => other.evaluate(async () => {
    const res = await fetch('/api/v1/me');
    return { status: res.status, ...(await res.json()) };
  });
  return { me, close: () => other.context().close() };
}

// newToken reads the token that a dialog shows once, and closes it.
async function newToken() {
  await dialog.getByText('shown only once').waitFor();
  const token = (await dialog.locator('.code pre').textContent()).trim();
  await inDialog('I saved the key').click();
  await dialog.waitFor({ state: 'hidden' });
  return token;
}

// consent lets a program that registers itself act for the user who is signed in.
async function consent(name) {
  const meta = await (await fetch(`${direct}/.well-known/oauth-authorization-server`)).json();
  const redirect = `${direct}/healthz`; // an address of this machine that answers
  const registered = await fetch(meta.registration_endpoint.replace(origin, direct), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirect], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = await registered.json();
  const challenge = createHash('sha256').update('v'.repeat(43)).digest('base64url');
  const request = { response_type: 'code', client_id, redirect_uri: redirect, code_challenge: challenge, code_challenge_method: 'S256', state: 's' };
  await page.goto(`${meta.authorization_endpoint}?${new URLSearchParams({ ...request, resource: `${direct}/mcp`, scope: 'tools:read tools:call' })}`);
  await button('Allow').click();
  await page.waitForURL(/code=/);
  faults.length = 0; // the program's page is not of the console
}

// shownScopes are the scopes that the page says the role has.
const shownScopes = async (role) => {
  const panel = page.locator('.panel', { has: page.getByRole('heading', { name: `Scopes of the role ${role}` }) });
  await panel.waitFor();
  return (await panel.locator('.tag').allTextContents()).sort();
};

const tours = {
  async users() {
    await signIn(page, link);
    step('a user is added, with a sign-in link');
    await page.goto(`${origin}/users`); // as the palette names it
    await page.waitForURL(/tab=users/);
    await page.getByRole('link', { name: 'vera' }).waitFor();
    await look('users');
    await button('Add a user').click();
    await dialog.getByLabel('Name').fill('uma');
    await accessible(page, 'the dialog that adds a user');
    await inDialog('Add user').click();
    await dialog.getByText('can sign in once').waitFor();
    const first = (await dialog.locator('.code pre').textContent()).trim();
    await inDialog('Open the user').click();
    await heading('uma');
    const id = new URL(page.url()).pathname.split('/').pop();
    await look('a user');

    step('a name that is taken is refused in the dialog');
    await page.goto(`${origin}/settings?tab=users`);
    await button('Add a user').click();
    await dialog.getByLabel('Name').fill('uma');
    await inDialog('Add user').click();
    await dialog.locator('input[aria-invalid=true]').waitFor();
    assert.match(await dialog.locator('.mantine-TextInput-error').innerText(), /uma/);
    faults.length = 0; // the browser notes the 409
    await inDialog('Cancel').click();

    step('the role says what the API says');
    const viewer = await signInAs(first);
    const viewerScopes = (await viewer.me()).scopes.sort();
    await page.goto(`${origin}/users/${id}`);
    assert.deepEqual(await shownScopes('viewer'), viewerScopes);

    step('all sessions of the user end');
    await tab('Sessions');
    await page.getByRole('cell', { name: 'Sign-in link' }).waitFor();
    await look('sessions of a user');
    await button('Sign out everywhere').click();
    await inDialog('Sign out everywhere').click();
    await page.getByText('No browser sessions').waitFor();
    assert.equal((await viewer.me()).status, 401);
    await viewer.close();

    step('the role changes after a confirmation');
    await tab('Details');
    await page.getByLabel('Role').selectOption('developer');
    await button('Save').click();
    await dialog.getByText('Change the role of uma to developer?').waitFor();
    await accessible(page, 'the question before a role changes');
    await inDialog('Change role').click();
    await dialog.waitFor({ state: 'hidden' });
    const developerScopes = await shownScopes('developer');
    await button('Create sign-in link').click();
    await dialog.getByText('can sign in once').waitFor();
    const developer = await signInAs((await dialog.locator('.code pre').textContent()).trim());
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.deepEqual((await developer.me()).scopes.sort(), developerScopes);
    await developer.close();

    step('one session ends');
    await tab('Sessions');
    await button('End session').click();
    await dialog.getByText('End this session?').waitFor();
    await inDialog('End session').click();
    await page.getByText('No browser sessions').waitFor();

    step('a key has the scopes and the expiry that were chosen');
    await tab('Keys');
    await button('Create a key').click();
    await dialog.getByLabel('Purpose').fill('laptop');
    await dialog.getByRole('checkbox', { name: /^audit:read/ }).check();
    assert.equal(await dialog.getByRole('checkbox', { name: /^admin/ }).count(), 0, 'a developer has no key with the scope admin');
    await dialog.getByLabel('Expires').selectOption('90');
    await accessible(page, 'the dialog that creates a key');
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/new-key.png` });
    await inDialog('Create key').click();
    let token = await newToken();
    const who = await withKey(token, '/whoami');
    assert.deepEqual([who.body.user, who.body.scopes.sort()], [id, ['audit:read', 'tools:call', 'tools:read']]);
    assert.equal((await withKey(token, '/tools/demo__echo/call', { arguments: { text: 'from the laptop' } })).status, 200);
    await page.getByRole('link', { name: 'laptop', exact: true }).waitFor();
    await look('keys of a user');

    step('the user has activity, and a call leads to the user');
    await tab('Activity');
    await page.getByRole('link', { name: 'View all calls' }).click();
    await page.waitForURL(/user=/);
    await page.getByRole('link', { name: /demo__echo/ }).first().click();
    await heading('demo__echo');
    await page.locator('.facts').getByRole('link', { name: 'uma', exact: true }).first().click();
    await heading('uma');
    await tab('Activity');
    await page.getByText('Top tools').waitFor();
    await look('activity of a user');

    step('the key has a page');
    await tab('Keys');
    await page.getByRole('link', { name: 'laptop', exact: true }).click();
    await heading('laptop');
    await page.getByText('in 2 mo').or(page.getByText('in 3 mo')).or(page.getByText(/in 89 d/)).first().waitFor();
    await page.getByRole('link', { name: 'uma', exact: true }).waitFor();
    await look('a key');
    await tab('Activity');
    await page.locator('.figure').filter({ hasText: 'Calls' }).filter({ hasText: '1' }).first().waitFor();
    await look('activity of a key');
    await page.getByRole('link', { name: 'View all calls' }).click();
    await page.waitForURL(/key=/);
    await button('Key laptop').waitFor();
    await page.getByRole('link', { name: /demo__echo/ }).first().waitFor();
    await page.goBack();
    await heading('laptop');

    step('it is rotated: the former token stops working');
    await button('Rotate key').click();
    await dialog.getByLabel('The former token works for').selectOption('0');
    await accessible(page, 'the dialog that rotates a key');
    await inDialog('Rotate key').click();
    const former = token;
    token = await newToken();
    assert.deepEqual([(await withKey(former, '/whoami')).status, (await withKey(token, '/whoami')).status], [401, 200]);

    step('and revoked');
    await button('Revoke key').click();
    await dialog.getByText('cannot be undone').waitFor();
    await inDialog('Revoke key').click();
    await page.getByText('revoked', { exact: true }).waitFor();
    assert.equal((await withKey(token, '/whoami')).status, 401);
    assert.equal(await button('Rotate key').count(), 0);
    await tab('History');
    for (const did of ['Created key', 'Rotated key', 'Deleted key']) await page.getByText(did).waitFor();

    step('the user is disabled, and enabled again');
    await page.goto(`${origin}/users/${id}?tab=keys`);
    await button('Create a key').click();
    await dialog.getByLabel('Purpose').fill('phone');
    await inDialog('Create key').click();
    const phone = await newToken();
    await act('uma', 'Disable user');
    await inDialog('Disable user').click();
    await button('Enable user').waitFor();
    assert.equal((await withKey(phone, '/whoami')).status, 401);
    await button('Enable user').click();
    await button('Create sign-in link').waitFor();
    assert.equal((await withKey(phone, '/whoami')).status, 200);

    step('a password is set');
    await act('uma', 'Set a password');
    await dialog.getByLabel('New password').fill('short');
    assert.ok(await inDialog('Set password').isDisabled());
    await dialog.getByLabel('New password').fill('correct horse battery');
    await inDialog('Set password').click();
    await dialog.waitFor({ state: 'hidden' });

    step('the history has every change, and leads to who made it');
    await tab('History');
    const role = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'role', exact: true }) });
    await role.filter({ hasText: 'viewer' }).filter({ hasText: 'developer' }).waitFor();
    await look('history of a user');
    await page.getByRole('list', { name: 'Changes' }).getByRole('link', { name: 'ada', exact: true }).first().click();
    await heading('ada');
    await button('Actions for ada').click();
    for (const name of ['Disable user', 'Delete user']) assert.equal(await page.getByRole('menuitem', { name }).count(), 0, `an admin is not offered: ${name}`);
    await page.keyboard.press('Escape');

    step('the user is found, and deleted once the name is typed');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find' }).fill('uma');
    await page.getByRole('option', { name: /^uma/ }).click();
    await heading('uma');
    await act('uma', 'Delete user');
    assert.ok(await inDialog('Delete user').isDisabled());
    await accessible(page, 'the dialog that deletes a user');
    await dialog.getByLabel('Type uma to confirm').fill('uma');
    await inDialog('Delete user').click();
    await page.waitForURL(/tab=users/);
    await page.getByRole('link', { name: 'vera' }).waitFor();
    await page.getByRole('link', { name: 'uma', exact: true }).waitFor({ state: 'detached' });
    assert.equal((await withKey(phone, '/whoami')).status, 401);
    quiet('while users and keys are managed');

    step('a deleted user still has a history');
    await page.goto(`${origin}/users/${id}`);
    await page.getByText('This user does not exist').waitFor();
    await page.getByText('Deleted user').waitFor();
    faults.length = 0; // the browser notes the 404
    await look('a deleted user');
  },

  async instance() {
    await signIn(page, link);
    step('a key of a service');
    await page.goto(`${origin}/settings?tab=keys`);
    await button('Create a key').click();
    await dialog.getByLabel('Purpose').fill('ci');
    await dialog.getByLabel('Owner').selectOption('service');
    await dialog.getByLabel('Expires').selectOption('7');
    await inDialog('Create key').click();
    const token = await newToken();
    assert.equal((await withKey(token, '/tools/demo__echo/call', { arguments: { text: 'built' } })).status, 200);
    await page.getByText('expires soon').waitFor();
    await look('keys');
    await page.getByRole('link', { name: 'ci', exact: true }).click();
    await tab('Activity');
    await page.getByText('No calls in this time range').waitFor({ state: 'hidden' });
    await page.getByRole('heading', { name: 'Latency' }).waitFor();

    step('keys of other users are created by name');
    await page.goto(`${origin}/settings?tab=keys`);
    await button('Create a key').click();
    await dialog.getByLabel('Purpose').fill('screen');
    await dialog.getByLabel('Owner').selectOption('user');
    await dialog.getByLabel('User', { exact: true }).fill('vera');
    await dialog.getByText('The role viewer of the user limits the scopes').waitFor();
    await dialog.getByRole('checkbox', { name: /^tools:call/ }).waitFor({ state: 'detached' });
    await inDialog('Create key').click();
    await newToken();
    await page.getByRole('row').filter({ hasText: 'screen' }).getByRole('link', { name: 'vera' }).waitFor();

    step('sessions of all users');
    await tab('Sessions');
    await page.getByText('this session').waitFor();
    await page.getByText('No OAuth consents').waitFor();

    step('a program that a user allowed, and then no longer');
    await consent('Notebook');
    await page.goto(`${origin}/settings?tab=sessions`);
    const program = page.getByRole('row').filter({ hasText: 'Notebook' });
    await program.getByRole('link', { name: 'ada' }).waitFor();
    await look('sessions');
    await program.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByText('tokens stop working at once').waitFor();
    await accessible(page, 'the dialog that revokes a consent');
    await inDialog('Revoke consent').click();
    await page.getByText('No OAuth consents').waitFor();
    await button('Sign out everywhere').waitFor({ state: 'detached' }); // of everybody

    step('roles');
    await tab('Roles');
    await page.getByLabel('Name of the role').fill('Auditing');
    await button('Add a role').click();
    await button('Delete the role Auditing').waitFor();
    await look('roles');
    await button('Delete the role Auditing').click();
    await inDialog('Delete role').click();
    await button('Delete the role Auditing').waitFor({ state: 'detached' });

    step('an agent gets a title, a role and limits of its own, and a limit is removed again');
    await page.goto(`${origin}/agents?new=1`);
    await dialog.getByLabel('Name').fill('clerk');
    await dialog.getByLabel('Title').fill('Clerk');
    await button('Create').click();
    await button('I saved the key').click();
    await heading('Clerk');
    await tab('Details');
    await page.getByLabel('Title').fill('Head clerk');
    await page.getByLabel('Role', { exact: true }).selectOption('QA');
    await button('Save').click();
    await heading('Head clerk');
    const clerk = () => page.evaluate(async () => (await fetch('/api/v1/agents/clerk')).json());
    assert.deepEqual([(await clerk()).title, (await clerk()).role], ['Head clerk', 'QA']);
    await look('the details of an agent');
    await tab('Limits');
    await page.getByLabel('Calls per second').fill('3');
    await page.getByLabel('Calls per day').fill('500');
    await button('Save').click();
    await page.getByText('The agent has its own limits').waitFor();
    await page.getByLabel('Calls per day').fill('');
    await button('Save').click();
    await page.waitForFunction(async () => (await (await fetch('/api/v1/agents/clerk')).json()).limits?.per_day === undefined);
    assert.deepEqual((await clerk()).limits.per_second, 3);
    await button('Remove own limits').click();
    await page.getByText('The agent has the limits of').waitFor();
    assert.equal((await clerk()).limits, undefined);

    step('limits of a tier');
    await page.goto(`${origin}/settings?tab=limits`);
    await button('Add').click();
    await dialog.getByLabel('Tier, or server/tool').fill('trial');
    await dialog.getByLabel('Calls per second').fill('2');
    await dialog.getByLabel('Calls per day').fill('50');
    await inDialog('Save').click();
    const trial = page.getByRole('row').filter({ hasText: 'trial' });
    await trial.getByText('50', { exact: true }).waitFor();
    await trial.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Calls per day').fill('');
    await inDialog('Save').click();
    await trial.getByText('50', { exact: true }).waitFor({ state: 'detached' });
    await look('limits');

    step('what the instance may reach');
    await tab('Egress');
    await page.getByText('127.0.0.0/8').first().waitFor();

    step('tenants');
    await tab('Tenants');
    await button('Add a tenant').click();
    await dialog.getByLabel('ID').fill('acme');
    await dialog.getByLabel('Name').fill('Acme Inc.');
    await inDialog('Add tenant').click();
    const admin = await newToken();
    assert.equal((await withKey(admin, '/whoami')).body.tenant, 'acme');
    await page.getByRole('cell', { name: 'Acme Inc.' }).waitFor();
    await look('tenants');
    await button('Replace admin key').click();
    await dialog.getByLabel('Type acme to confirm').fill('acme');
    await inDialog('Replace key').click();
    const next = await newToken();
    assert.deepEqual([(await withKey(admin, '/whoami')).status, (await withKey(next, '/whoami')).status], [401, 200]);

    step('replicas, journals and the backup');
    await tab('Instance');
    await page.getByText('this one', { exact: true }).waitFor();
    await page.getByText('writing', { exact: true }).waitFor();
    await page.getByText('junctor backup junctor-backup.tar.gz', { exact: true }).waitFor();
    await look('the instance');
    quiet('while the instance is managed');
  },

  async viewer() {
    await signIn(page, link);
    step('a viewer has own sessions, and no administration');
    await page.goto(`${origin}/settings`);
    await heading('Settings');
    assert.deepEqual(await page.getByRole('tab').allTextContents(), ['Account', 'Sessions', 'Connect a client', 'Limits', 'Import and export']);
    await tab('Sessions');
    await page.getByText('this session').waitFor();
    assert.equal(await page.getByRole('columnheader', { name: 'User' }).count(), 0);
    await look('own sessions');
    step('addresses of administration lead to no refused request');
    for (const path of ['/users', '/users/x', '/keys', '/keys/x']) {
      await page.goto(origin + path);
      await page.getByText('Your role does not include this page').waitFor();
    }
    for (const name of ['users', 'roles', 'keys', 'tenants', 'instance']) {
      await page.goto(`${origin}/settings?tab=${name}`);
      await page.getByRole('tab', { name: 'Account', selected: true }).waitFor();
    }
    await page.goto(`${origin}/agents`);
    await heading('Agents');
    quiet('for a viewer');
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
