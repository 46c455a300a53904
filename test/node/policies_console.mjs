// Rules about calls: made from a template, mended, simulated, enforced, seen at work, explained,
// reordered and removed; and what somebody sees who may not change them.
// node policies_console.mjs LINK LINK-OF-A-VIEWER
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { accessible, open, signIn, watch } from './browser.mjs';

const [link, viewer, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const heading = (name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
const button = (name) => page.getByRole('button', { name, exact: true });
const field = (name) => page.getByLabel(name, { exact: true });
const messages = page.getByRole('region', { name: 'Messages' });
const forgive = (status) => faults.splice(0, faults.length, ...faults.filter((f) => !f.includes(String(status))));

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
const order = async () => (await read('/policies')).items.map((r) => r.name);
// until waits for what the API has.
async function until(what, holds) {
  for (let i = 0; i < 300; i++) {
    if (await holds()) return;
    await page.waitForTimeout(100);
  }
  throw new Error(`not after 30 s: ${what}`);
}

// look fails where a page keeps people out or is too wide, and takes pictures where they are
// wanted.
async function look(name) {
  for (const [colorScheme, width] of [['light', 1440], ['dark', 1440], ['light', 390], ['dark', 390]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await page.waitForTimeout(150);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
    await accessible(page, `${name}, ${colorScheme}, ${width} px`);
    if (!folder) continue;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
}

try {
  await signIn(page, link);

  step('without rules, the list says what to do');
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Policies' }).click();
  await heading('Policies');
  await page.getByText('No rules yet').waitFor();
  await look('policies-empty');

  step('a rule is made from a template');
  await page.getByRole('link', { name: 'Use template paths-below-a-folder' }).click();
  await heading('Add a rule');
  assert.equal(await page.getByLabel(/^Name/).inputValue(), 'paths-below-a-folder');
  await page.getByLabel(/^Name/).fill('no-plans');
  await field('Title').fill('Plans are secret');
  await field('Tools and resources').fill('demo/echo');
  await page.getByText('Matches 1 tool: demo/echo').waitFor();
  await field('Message').fill('Talk about plans in person.');
  await field('Mode').selectOption('audit');

  step('an error is shown at its place, and mended by its suggestion');
  const condition = field('Condition');
  await condition.fill('args.txt.contains("plans")');
  const problem = page.locator('.condition-problem');
  await problem.filter({ hasText: /The tool has no argument args\.txt; did you mean text\? \(demo\/echo\)/ }).waitFor();
  assert.equal(await page.locator('.condition mark').textContent(), 'args.txt');
  assert.equal(await condition.getAttribute('aria-invalid'), 'true');
  assert.ok(await button('Add').isDisabled(), 'a rule with an error can be added');
  await look('policies-error');
  await button('Use text').click();
  await page.getByText('It fits every tool of the target.').waitFor();
  assert.equal(await condition.inputValue(), 'args.text.contains("plans")');

  step('arguments are completed by keyboard');
  await condition.fill('');
  await condition.pressSequentially('args.te');
  const list = page.getByRole('listbox', { name: 'Completions' });
  await list.getByRole('option', { name: /^text/ }).waitFor();
  await look('policies-completion');
  await condition.focus();
  await condition.press('Control+Space');
  await condition.press('Enter');
  assert.equal(await condition.inputValue(), 'args.text');
  await condition.pressSequentially('.conta');
  await condition.press('Tab');
  await condition.pressSequentially('plans');
  assert.equal(await condition.inputValue(), 'args.text.contains("plans")');

  step('the simulation names the calls that would have ended otherwise');
  const simulation = page.locator('section.panel').filter({ has: page.getByRole('heading', { name: 'Simulation' }) });
  await simulation.locator('[data-current=true]').getByRole('status').filter({ hasText: /^3 of \d+ calls would have ended otherwise\. This rule matches 3\./ }).waitFor();
  const group = simulation.getByRole('listitem');
  assert.equal(await group.count(), 1);
  assert.match(await group.innerText(), /demo\/echo[\s\S]*made[\s\S]*denied[\s\S]*3/);
  assert.equal(await group.getByRole('link').count(), 3);

  step('a call is made up to try the rule');
  await page.getByText('Try a call').click();
  const tried = page.getByRole('status').filter({ hasText: /^It would be/ });
  await tried.filter({ hasText: 'It would be made.' }).or(tried.filter({ hasText: 'denied' })).waitFor();
  await field('Arguments').fill('{"text":"the plans"}');
  await tried.filter({ hasText: 'It would be denied by this rule.' }).waitFor();
  await field('Arguments').fill('{"text":"the weather"}');
  await tried.filter({ hasText: 'It would be made.' }).waitFor();
  await look('policies-new');
  await button('Add').click();
  await heading('no-plans');
  const stored = await read('/policies/no-plans');
  assert.deepEqual([stored.when, stored.mode, stored.verdict, stored.target.items], ['args.text.contains("plans")', 'audit', 'deny', ['demo/echo']]);

  step('in the mode audit, calls are made and recorded');
  const plans = { arguments: { text: 'our secret plans' } };
  assert.equal((await api('POST', '/tools/demo__echo/call', plans)).status, 200);

  step('the rule is enforced, and a call is denied');
  await page.getByRole('switch', { name: 'Enforced' }).press('Space');
  await messages.getByText('no-plans is enforced').waitFor();
  await until('the rule is enforced', async () => (await read('/policies/no-plans')).mode !== 'audit');
  const denied = await api('POST', '/tools/demo__echo/call', plans);
  assert.match(JSON.stringify(denied.body), /Talk about plans in person/);
  forgive(403);
  quiet('after the denied call');

  step('the hits are on the page of the rule');
  await page.getByRole('tab', { name: 'Activity' }).click();
  const figure = (name) => page.locator('.figure').filter({ has: page.getByText(name, { exact: true }) }).locator('.value');
  await page.waitForFunction(() => [...document.querySelectorAll('.figure')].map((f) => f.innerText.split('\n').slice(0, 2).join(' ')).join(', ') === 'Matched 2, Denied 1, Made 1');
  assert.equal(await figure('Denied').innerText(), '1');
  await look('policies-activity');
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByRole('list', { name: 'Changes' }).getByText('Set policy').first().waitFor();

  step('the page of the call has the rule, and explains it');
  let call;
  await until('the denied call is in the history', async () => (call = (await read('/calls?status=denied&limit=1')).items[0]) !== undefined);
  await page.goto(`${origin}/calls/${call.id}`);
  const hits = page.getByRole('list', { name: 'Rules that were evaluated' });
  await hits.getByText('decided').waitFor();
  await hits.getByRole('link', { name: 'no-plans' }).waitFor();
  await page.locator('.steps li').filter({ hasText: 'Rules' }).getByText('Refused: ').waitFor();
  await button('Explain').click();
  const rule = page.getByRole('region', { name: 'Rule no-plans' });
  await rule.getByRole('cell', { name: 'args.text.contains("plans")' }).first().waitFor();
  await rule.getByText('args.text = "our secret plans"').first().waitFor();
  await look('policies-call');
  await hits.getByRole('link', { name: 'no-plans' }).click();
  await heading('no-plans');

  step('a change is saved, and asks nothing more');
  await field('Message').fill('Talk about plans at lunch.');
  await button('Save').click();
  await until('the message is stored', async () => (await read('/policies/no-plans')).message === 'Talk about plans at lunch.');
  await look('policies-rule');

  step('rules change places, by keyboard too');
  for (const name of ['second', 'third']) await api('PUT', `/policies/${name}`, { verdict: 'allow', mode: 'audit', target: { items: ['demo/add'] } });
  await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'Policies' }).click();
  await heading('Policies');
  await button('Move third up').waitFor();
  assert.ok(await button('Move no-plans up').isDisabled());
  assert.ok(await button('Move third down').isDisabled());
  await button('Move third up').press('Enter');
  await until('third is second', async () => (await order()).join() === 'no-plans,third,second');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Move third up' && document.querySelectorAll('tbody tr')[1]?.textContent.includes('third'));
  await page.keyboard.press('Enter');
  await until('third is first', async () => (await order()).join() === 'third,no-plans,second');
  await page.getByRole('row').filter({ hasText: 'no-plans' }).getByRole('cell', { name: '2', exact: true }).first().waitFor();
  await look('policies');

  step('a rule is removed, and Undo puts it back to its place');
  const before = await read('/policies/no-plans');
  await button('Actions for no-plans').click();
  await page.getByRole('menuitem', { name: 'Move down' }).waitFor();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  const message = messages.locator('.toast').filter({ hasText: 'no-plans is removed' });
  await message.waitFor();
  assert.deepEqual(await order(), ['third', 'second']);
  await message.hover();
  await message.getByRole('button', { name: 'Undo' }).click();
  await until('the rule is back', async () => (await order()).join() === 'third,no-plans,second');
  const again = await read('/policies/no-plans');
  assert.equal(again.version, before.version);
  await page.getByRole('link', { name: 'no-plans', exact: true }).click();
  await button('Remove').click();
  await heading('Policies');
  await messages.locator('.toast').filter({ hasText: 'no-plans is removed' }).getByRole('button', { name: 'Undo' }).click();
  await until('the rule is back again', async () => (await order()).join() === 'third,no-plans,second');

  step('the annotations of a tool are stated, and taken back');
  await page.goto(`${origin}/tools/notes__search`);
  await page.getByRole('heading', { name: 'Annotations' }).waitFor();
  await page.getByText('Set annotations').click();
  await field('Destructive').selectOption('yes');
  await field('Tags').fill('money, risky');
  const form = page.getByRole('form', { name: 'Annotations' });
  await form.getByRole('button', { name: 'Save' }).click();
  const facts = page.locator('section.panel').filter({ has: page.getByRole('heading', { name: 'Annotations' }) }).locator('.facts');
  await facts.getByText('Yes: can delete or overwrite').waitFor();
  await facts.getByText('operator').first().waitFor();
  await facts.getByText('risky', { exact: true }).waitFor();
  await look('tool-annotations');
  await form.getByRole('button', { name: 'Reset all' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await facts.getByText('risky', { exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual((await read('/servers/notes')).overrides?.search, undefined);
  quiet('before the viewer');

  step('a viewer reads the rules, and sees no button that would be refused');
  const other = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  const theirs = await other.newPage();
  const wrong = [];
  watch(theirs, wrong);
  theirs.setDefaultTimeout(90_000);
  await signIn(theirs, viewer);
  await theirs.goto(`${origin}/policies`);
  await theirs.getByRole('link', { name: 'no-plans', exact: true }).waitFor();
  await theirs.waitForLoadState('networkidle');
  for (const name of [/Add a rule/, /Use template/, /^Move /, /^Actions for /]) assert.equal(await theirs.getByRole('button', { name }).or(theirs.getByRole('link', { name })).count(), 0, String(name));
  assert.ok(await theirs.getByRole('switch', { name: 'Enforce no-plans' }).isDisabled());
  await theirs.goto(`${origin}/policies?new=blank`);
  await theirs.getByRole('heading', { level: 1, name: 'Policies' }).waitFor();
  await theirs.getByRole('link', { name: 'no-plans', exact: true }).click();
  await theirs.getByRole('heading', { level: 1, name: 'no-plans' }).waitFor();
  assert.equal(await theirs.getByLabel('Condition').inputValue(), 'args.text.contains("plans")');
  await theirs.waitForLoadState('networkidle');
  for (const name of ['Save', 'Remove', 'Simulate']) assert.equal(await theirs.getByRole('button', { name, exact: true }).count(), 0, name);
  assert.equal(await theirs.getByRole('heading', { name: 'Simulation' }).count(), 0);
  await accessible(theirs, 'a rule, for a viewer');
  assert.deepEqual(wrong, []);
  await other.close();
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 2500)}`);
  if (faults.length) console.error(faults.join('\n'));
  if (process.env.FAILED_SHOT) await page.screenshot({ path: process.env.FAILED_SHOT, fullPage: true });
  process.exitCode = 1;
}
await browser.close();
