// Servers are added on default settings.
// node defaults_console.mjs LINK-OF-AN-ADMIN LINK-OF-A-DEVELOPER URL COMMAND MCPJSON JUNCTOR FOLDER
import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { dirname } from 'node:path';
import { accessible, open, signIn, watch } from './browser.mjs';

const [link, developer, url, command, config, junctor, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();
const notice = page.getByRole('heading', { name: 'Commands cannot be added here' });

// runLines runs the lines that the page shows, as somebody does who copies them. On a terminal
// the program asks for consent; here --yes gives it.
async function runLines(count) {
  const lines = await page.locator('code', { hasText: /^junctor / }).allInnerTexts();
  assert.equal(lines.length, count, lines.join('\n'));
  for (const line of lines) {
    step(`$ ${line}`);
    execSync(line.replace(/^junctor (server|pack) add/, '$& --yes'), { cwd: folder, env: { ...process.env, PATH: `${dirname(junctor)}:${process.env.PATH}` }, stdio: ['ignore', 'inherit', 'inherit'] });
  }
}

// look checks a page that says what cannot be done, narrow and wide.
async function look(where) {
  for (const [width, height] of [[390, 844], [1440, 900]]) {
    await page.setViewportSize({ width, height });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${where} is ${wide} px too wide at ${width} px`);
  }
  await accessible(page, where);
}

try {
  await signIn(page, link);

  step('a server at a loopback address is tested and added');
  await page.goto(`${origin}/servers/add`);
  await page.getByLabel('URL').fill(url);
  await page.getByLabel('ID', { exact: true }).fill('mine');
  await page.getByRole('button', { name: 'Test connection' }).click();
  await page.getByRole('button', { name: 'Add mine' }).click();
  await page.waitForURL(`${origin}/servers/mine`);
  await page.getByText('ping', { exact: true }).first().waitFor();

  step('before a command is entered, the page says where it is added');
  await page.goto(`${origin}/servers/add?how=command`);
  await notice.waitFor();
  await page.getByText('--allow-commands').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Test connection' }).count(), 0);
  await page.getByLabel('Command').fill(command);
  await page.getByLabel('ID', { exact: true }).fill('shown');
  assert.equal(await page.getByLabel(/exactly this/).count(), 0);
  await look('a command that cannot be added');
  await runLines(1);

  step('of a configuration, what is a command is added with its line, and the rest in the console');
  await page.goto(`${origin}/servers/add?how=mcp.json`);
  await page.getByLabel('Configuration of an MCP client').fill(config);
  await notice.waitFor();
  assert.ok(await page.getByLabel('Add kept').isDisabled());
  await page.getByRole('button', { name: 'Test and add 1' }).click();
  await page.getByText('added', { exact: true }).waitFor();
  await look('a configuration with a command');
  await runLines(1);

  step('the gallery marks what is added on the command line');
  await page.goto(`${origin}/gallery`);
  await heading('Gallery');
  const card = page.getByRole('link', { name: /Memory/ }).first();
  await card.getByText('command line', { exact: true }).waitFor();
  await accessible(page, 'the gallery');
  await card.click();
  await notice.waitFor();
  await look('a pack that runs a command');
  await runLines(1);

  assert.deepEqual(faults, []);

  step('a developer is told the same');
  const other = await browser.newContext();
  const theirs = await other.newPage();
  watch(theirs, faults);
  await signIn(theirs, developer);
  await theirs.goto(`${origin}/servers/add?how=command`);
  await theirs.getByRole('heading', { name: 'Commands cannot be added here' }).waitFor();
  await theirs.goto(`${origin}/gallery`);
  await theirs.getByText('command line', { exact: true }).first().waitFor();
  assert.deepEqual(faults, []);
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 2500)}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
