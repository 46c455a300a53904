// Chains, the agents on them and the files of deliveries, as people look at them.
// node chains.mjs LINK AGENT BLOCKED PROVED REFUSED [FOLDER]: names of agents, ids
// of deliveries, and where to put pictures.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { accessible, open, signIn } from './browser.mjs';

const [link, agent, blocked, proved, refused, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(60_000);
const step = (name) => console.log(name);
const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();
const one = (name) => `/chain-agents/one?name=${encodeURIComponent(name)}`;

try {
  await signIn(page, link);

  step('a chain, and what its registries said');
  await page.goto(`${origin}/chains`);
  await heading('Chains');
  await page.getByText('up to date').waitFor();
  await page.getByText('eip155:31337').waitFor();
  const said = page.getByRole('region', { name: 'Registry events', exact: true });
  await said.getByText('NewFeedback').first().waitFor();
  assert.ok((await said.getByText('confirmed').count()) >= 3);
  await accessible(page, 'chains');
  await page.getByRole('tab', { name: 'Orphaned' }).click();
  await page.getByText('No event is in this state.').waitFor();

  step('an agent that was found, and its server');
  await page.getByRole('link', { name: 'Discovered agents' }).first().click();
  await heading('Discovered agents');
  await page.getByRole('link', { name: 'agent 42', exact: true }).click();
  await heading('agent 42');
  await page.getByText('stored on chain').first().waitFor();
  await page.getByText('claims the agent').waitFor();
  await accessible(page, 'an agent on a chain');
  await page.getByRole('link', { name: /^local-42-/ }).click();
  await heading(/agent 42 on local/);
  await page.getByText('Tools are not listed').waitFor();
  await page.getByText('Discovered', { exact: true }).waitFor();
  await accessible(page, 'its server');

  step('an agent whose command is blocked, looked for again');
  await page.goto(origin + one(blocked));
  await heading('agent 43');
  await page.getByRole('heading', { name: 'Blocked commands' }).waitFor();
  await page.getByText('{"args":["x"],"command":"touch","name":"MCP"}').waitFor();
  await page.getByText('Junctor never runs it.').waitFor();
  await page.getByRole('button', { name: 'Look up now' }).click();
  await page.getByRole('alert').getByText(/never run/).waitFor();
  await accessible(page, 'a blocked command');

  step('one is looked for by its name');
  await page.goto(`${origin}/chain-agents`);
  await page.getByLabel('Look up an agent').fill(agent);
  await page.getByRole('button', { name: 'Look up', exact: true }).click();
  await heading('agent 42');

  step('files of deliveries');
  await page.goto(`${origin}/deliveries/${proved}`);
  await page.getByText('verified', { exact: true }).waitFor();
  await page.getByText('CID and hash verified').waitFor();
  await accessible(page, 'a delivery with a file');
  await page.goto(`${origin}/deliveries/${refused}`);
  await page.getByText('refused', { exact: true }).waitFor();
  await page.getByText(/expected keccak256/).first().waitFor();
  await accessible(page, 'a delivery whose file was refused');

  step('wide and narrow, light and dark');
  if (folder) mkdirSync(folder, { recursive: true });
  const paths = { chains: '/chains', agents: '/chain-agents', agent: one(agent), blocked: one(blocked), proved: `/deliveries/${proved}`, refused: `/deliveries/${refused}` };
  for (const scheme of ['light', 'dark'])
    for (const width of [1440, 390]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      for (const [name, path] of Object.entries(paths)) {
        await page.goto(origin + path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${name}, ${width}: ${wide} px too wide`);
        if (scheme === 'dark') await accessible(page, `${name}, ${width}, ${scheme}`);
        if (folder) await page.screenshot({ path: `${folder}/${name}-${width}-${scheme}.png`, fullPage: true });
      }
    }
  assert.deepEqual(faults, []);
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`);
  if (faults.length) console.error(faults.join('\n'));
  process.exitCode = 1;
}
await browser.close();
