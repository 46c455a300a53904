// Events, from a trigger to what an agent is told, as people do it.
// node events_console.mjs LINK URL-OF-THE-AGENT TOKEN [FOLDER-FOR-PICTURES]
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { accessible, open, signIn } from './browser.mjs';

const [link, agent, token, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const button = (name) => page.getByRole('button', { name, exact: true });
const field = (name) => page.getByLabel(name, { exact: true });
const heading = (name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
const text = (what) => page.getByText(what, { exact: true });
const mode = async (to) => assert.equal((await fetch(`${agent}/mode?to=${to}`, { method: 'POST' })).status, 204);
const told = async () => (await fetch(`${agent}/told`)).json();

// until waits for something that a page does not show.
async function until(what, holds) {
  const end = Date.now() + 90_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`it does not come to this: ${what}`);
    await new Promise((r) => setTimeout(r, 100));
  }
}

// look fails where a page keeps people out, or is too wide, and takes pictures
// where they are wanted.
async function look(name) {
  for (const [colorScheme, width] of [['dark', 390], ['light', 1440]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await page.waitForTimeout(500); // colours change over a moment
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
    if (width === 390) await accessible(page, `${name}, dark and narrow`); // light ones are in screens.mjs
    if (!folder) continue;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
  }
}

// tell sends an event by the form that is open.
async function tell(n) {
  await field('Data').fill(`{"n": ${n}}`);
  const [answer] = await Promise.all([
    page.waitForResponse((r) => r.url().endsWith('/api/v1/events') && r.request().method() === 'POST'),
    page.getByRole('button', { name: /^Send( again)?$/ }).click(),
  ]);
  assert.equal(answer.status(), 202);
  assert.equal((await answer.json()).deliveries.length, 1);
}

async function openForm() {
  await page.goto(`${origin}/events?send=1`);
  await page.getByRole('textbox', { name: 'Type' }).last().fill('report.finished');
  await page.getByRole('textbox', { name: 'Agent' }).last().fill('trader');
}

// rows waits until so many deliveries are in a state.
const rows = (name, count) =>
  until(`${count} deliveries are ${name}`, async () => (await page.getByRole('cell', { name, exact: true }).count()) === count);

try {
  await signIn(page, link);

  step('a source is added, and its secret shown once');
  await page.goto(`${origin}/sources?new=source`);
  await page.getByRole('textbox', { name: 'ID' }).fill('billing');
  await button('Add').click();
  await page.getByText(/^whsec_/).waitFor();
  await look('source-secret');
  await button('I saved the secret').click();
  await page.getByRole('link', { name: 'billing', exact: true }).waitFor();

  step('a schedule says its next times before it is kept');
  await button('Add a schedule').click();
  await page.getByRole('textbox', { name: 'Name' }).fill('nightly');
  await page.getByRole('textbox', { name: 'Type' }).fill('report.due');
  await page.getByLabel('Cron schedule').fill('61 3 * * *');
  await page.getByText(/61/).and(page.getByRole('status')).waitFor();
  await page.getByLabel('Cron schedule').fill('30 3 * * mon-fri');
  await until('five times are shown', async () => (await page.getByRole('list', { name: 'Next times' }).last().getByRole('listitem').count()) === 5);
  await button('Add').click();
  await page.getByRole('link', { name: 'nightly', exact: true }).waitFor();
  await look('sources');
  // A refused expression is an answer that the browser notes.
  faults.splice(0, faults.length, ...faults.filter((f) => !/422/.test(f)));

  step('the agent’s endpoint and its token are entered');
  await page.goto(`${origin}/endpoints`);
  await button('Add an endpoint').click();
  await page.getByRole('textbox', { name: 'Agent' }).fill('trader');
  await page.getByRole('textbox', { name: 'URL' }).fill(`${agent}/mcp`);
  await page.getByLabel('Token').fill(token);
  await page.getByLabel('Header').selectOption('X-Agent-Token');
  await button('Save').click();
  await text('trader').waitFor();

  step('a trigger is written, tried while it is, and kept');
  await page.goto(`${origin}/triggers`);
  await page.getByRole('link', { name: 'Add a trigger' }).first().click();
  await heading('Add a trigger');
  await page.getByRole('textbox', { name: 'Name' }).fill('on-report');
  await text('Without a condition, every event runs the action.').waitFor();
  await page.getByRole('combobox', { name: 'Type', exact: true }).fill('report.*');
  await text('Without a condition, every event runs the action.').waitFor({ state: 'detached' });
  await page.getByLabel('Call a tool on').selectOption('agent');
  await page.getByRole('combobox', { name: 'Tool', exact: true }).fill('receive');
  await field('Test event: type').fill('report.finished');
  await field('Test event: agent').fill('trader');
  await field('Test event: data').fill('{"n": 7}');
  await field('Arguments').fill('{"n": "{{data.n|whole}}"}');
  await page.getByText(/has the unknown type "whole"/).first().waitFor();
  assert.ok((await page.getByText(/has the unknown type "whole"/).count()) >= 2, 'the refusal stands beside the field as well');
  await field('Arguments').fill('{"n": "{{data.n|integer}}"}');
  await text('matches the event').waitFor();
  await page.locator('pre.json').filter({ hasText: '"n": 7' }).first().waitFor();
  faults.splice(0, faults.length, ...faults.filter((f) => !/422|400/.test(f)));
  await look('trigger-new');
  await button('Add').click();
  await heading('on-report');
  await text('No event has fired this trigger.').waitFor();

  step('an event that the agent refuses is a dead letter');
  await mode('refuses');
  await openForm();
  await tell(0);
  await page.goto(`${origin}/dead`);
  await rows('dead letter', 1);
  await look('dead');

  step('three more, while the agent is down: the first is retried, the others stay in line');
  await mode('down');
  await openForm();
  for (const n of [1, 2, 3]) await tell(n);
  await page.getByRole('link', { name: 'the event' }).click();
  await page.getByRole('heading', { name: 'Deliveries', exact: true }).waitFor();
  await look('event');
  await page.goto(`${origin}/deliveries?agent=trader&state=waiting`);
  await rows(/^(queued|breaker open)$/, 2);
  await page.goto(`${origin}/deliveries?agent=trader`);
  const first = await page.evaluate(async () => {
    const all = (await (await fetch('/api/v1/deliveries?agent=trader')).json()).items;
    return all.find((d) => !['waiting', 'dead'].includes(d.state)).id;
  });
  await page.locator(`a[href="/deliveries/${first}"]`).click();
  await text('Attempt 3 failed').waitFor();

  step('it is tried by hand until the endpoint is left alone');
  for (const n of [4, 5]) {
    await button('Replay').click();
    await text(`Attempt ${n} failed`).waitFor();
  }
  await text('The breaker of its endpoint is open').waitFor();
  await look('delivery');
  await page.goto(`${origin}/endpoints`);
  const lane = page.getByRole('region', { name: 'agent:trader' });
  await lane.waitFor();
  await look('endpoints');
  await lane.getByRole('button', { name: 'Stop', exact: true }).click();
  await lane.getByText('stopped', { exact: true }).waitFor();
  await page.goto(`${origin}/deliveries?agent=trader`);
  await rows('breaker open', 3);
  await look('deliveries');

  step('the agent is repaired, the endpoint started: all arrive, in order');
  await mode('up');
  await page.goto(`${origin}/endpoints`);
  await lane.getByRole('button', { name: 'Start', exact: true }).click();
  await until('three are told', async () => (await told()).length === 3);
  assert.deepEqual((await told()).map((r) => r.n), [1, 2, 3]);
  await page.goto(`${origin}/deliveries?agent=trader`);
  await rows('delivered', 3);

  step('the dead letter is replayed, after a look at how many that are');
  await page.goto(`${origin}/dead`);
  await rows('dead letter', 1);
  await button('Replay all').click();
  await text('The action applies to 1 delivery.').waitFor();
  await look('replay');
  await button('Replay 1 delivery').click();
  await page.getByText('Done with 1 delivery.').waitFor();
  await button('Close').last().click();
  await until('the fourth is told', async () => (await told()).length === 4);
  assert.deepEqual((await told()).map((r) => r.n), [1, 2, 3, 0]);
  await text('No dead letters').waitFor();

  step('a window is replayed: the same ids, so that the agent does nothing twice');
  const before = await told();
  await page.goto(`${origin}/deliveries?state=done&agent=trader&back=window`);
  await field('Created at or after').fill('2020-01-01T00:00');
  await rows('delivered', 4);
  await button('Bulk actions').click();
  await text('The action applies to 4 deliveries.').waitFor();
  await button('Replay 4 deliveries').click();
  await page.getByText('Done with 4 deliveries.').waitFor();
  await button('Close').last().click();
  await page.goto(`${origin}/deliveries/${before[0].id}`);
  await page.getByText(/^Attempt \d+ succeeded$/).nth(1).waitFor();
  await page.goto(`${origin}/deliveries?state=done&agent=trader`);
  await rows('delivered', 4);
  assert.deepEqual(await told(), before);

  step('the trigger is switched off, and events lead to nothing');
  await page.goto(`${origin}/triggers`);
  await page.getByRole('switch', { name: 'Enable on-report' }).press('Space');
  await page.getByRole('switch', { name: 'Enable on-report', checked: false }).waitFor();
  await look('triggers');
  quiet('events');
  step('done');
} finally {
  await browser.close();
}
