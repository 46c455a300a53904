// Ready-made servers, the proof of the journal, and settings, as people use them.
// node gallery.mjs LINK FOLDER MEMORY PACK
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessible, open, signIn } from './browser.mjs';

const [link, folder, memory, pack] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open({ acceptDownloads: true });
page.setDefaultTimeout(120_000); // npx may have to fetch
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor();
const download = async (act) => {
  const [file] = await Promise.all([page.waitForEvent('download'), act()]);
  return readFileSync(await file.path(), 'utf8');
};

try {
  // The time until somebody can use the page: its heading stands, and no task that
  // began before holds it up.
  await page.addInitScript(() => {
    window.__long = [];
    new PerformanceObserver((l) => window.__long.push(...l.getEntries().map((e) => e.startTime + e.duration))).observe({ type: 'longtask', buffered: true });
    new MutationObserver((_, o) => {
      if (document.querySelector('h1')) {
        window.__stands = performance.now();
        o.disconnect();
      }
    }).observe(document, { childList: true, subtree: true });
  });
  await signIn(page, link);
  const times = [];
  for (let i = 0; i < 5; i++) {
    await page.goto(origin);
    await heading('Overview');
    await page.waitForTimeout(300);
    times.push(await page.evaluate(() => Math.max(window.__stands, ...window.__long.filter((end) => end - window.__stands < 200))));
  }
  const interactive = Math.round(times.sort((a, b) => a - b)[2]);
  step(`interactive within ${interactive} ms, the median of ${times.length}; 1000 are wanted`);
  assert.ok(interactive < (process.env.JUNCTOR_LONG ? 1000 : 20_000), // a busy machine says little
    `interactive only after ${interactive} ms`);

  step('the gallery is searched');
  await page.goto(`${origin}/gallery`);
  await heading('Gallery');
  await page.getByRole('heading', { name: 'Everything' }).waitFor();
  assert.ok((await page.getByRole('list', { name: 'Packs' }).getByRole('listitem').count()) >= 15);
  await accessible(page, 'gallery');
  await page.getByLabel('Search the gallery').fill('documentation');
  await page.waitForURL(/q=documentation/);
  await page.getByRole('heading', { name: 'Context7' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Everything' }).count(), 0);
  await page.getByLabel('Search the gallery').fill('every feature');

  step('one that asks for nothing is added with one consent');
  await page.getByRole('link', { name: /Everything/ }).click();
  await heading('Everything');
  const add = page.getByRole('button', { name: 'Add everything' });
  assert.ok(await add.isDisabled(), 'a command runs without consent');
  await page.getByText('@modelcontextprotocol/server-everything@').first().waitFor();
  await page.getByLabel(/exactly this/).check();
  await accessible(page, 'a pack');
  await add.click();
  await page.waitForURL(`${origin}/servers/everything`);
  await page.getByText('echo', { exact: true }).first().waitFor();
  quiet('while a pack was added');

  step('one that asks shows the command with the answer in it');
  await page.goto(`${origin}/gallery/filesystem`);
  await page.getByText('Required: Folder.').waitFor();
  assert.equal(await page.getByLabel(/exactly this/).count(), 0);
  await page.getByLabel('Folder').fill(folder);
  await page.getByLabel(/exactly this/).check();
  assert.match(await page.locator('.code pre').innerText(), new RegExp(`word 3\\s+${folder}`));
  await page.getByRole('button', { name: 'Add filesystem' }).click();
  await page.waitForURL(`${origin}/servers/filesystem`);
  await page.goto(`${origin}/playground?name=filesystem__list_directory&as=json`);
  await page.getByLabel('Arguments as JSON').fill(JSON.stringify({ path: folder }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('[FILE] hello.txt').first().waitFor();

  step('an answer that is not needed is sealed where it is given');
  await page.goto(`${origin}/gallery/memory`);
  await page.getByLabel('File').fill(memory);
  await page.getByLabel(/exactly this/).check();
  await page.getByRole('button', { name: 'Add memory' }).click();
  await page.waitForURL(`${origin}/servers/memory`);

  step('what is there is not added twice under one id');
  await page.goto(`${origin}/gallery/memory`);
  assert.equal(await page.getByLabel('ID').inputValue(), 'memory-2');
  await page.getByLabel('ID').fill('memory');
  await page.getByText('A server with this ID exists.').waitFor();

  step('a pack from a file');
  await page.goto(`${origin}/gallery/file`);
  await page.getByLabel('Pack', { exact: true }).fill('pack: x');
  await page.getByText(/title is missing/).waitFor();
  faults.length = 0; // the browser says that it was refused
  await page.getByLabel('Pack', { exact: true }).fill(pack);
  await heading('Team');
  await page.getByLabel(/^Token/).fill('wrong-canary');
  await page.getByRole('button', { name: 'Add notes' }).click();
  await page.getByText(/authentication/).first().waitFor();
  faults.length = 0;
  await page.getByLabel(/^Token/).fill('pack-canary');
  await page.getByRole('button', { name: 'Add notes' }).click();
  await page.waitForURL(`${origin}/servers/notes`);
  await heading(/notes/);
  await page.getByText('search', { exact: true }).first().waitFor();
  assert.ok(!(await page.content()).includes('canary'), 'a secret is on the page');

  step('what is there is given to others without its secrets');
  await page.goto(`${origin}/settings?tab=files`);
  await page.getByLabel('Team notes', { exact: true }).check();
  const made = await download(() => page.getByRole('button', { name: 'Create the pack' }).click());
  assert.match(made, /\$\{notes-token\}/);
  const declared = await download(() => page.getByRole('button', { name: 'YAML' }).click());
  assert.match(declared, /servers:[\s\S]*filesystem:/);
  for (const text of [made, declared]) assert.ok(!text.includes('canary'), 'a secret is in a file');
  await accessible(page, 'import and export');

  step('a file is applied after a look at what differs');
  const file = page.getByLabel('Settings file');
  await file.fill(`servers:\n  extra:\n    title: One more\n    command: [npx, -y, "@modelcontextprotocol/server-everything@2026.8.31"]\n`);
  await page.getByRole('button', { name: 'Show changes' }).click();
  const differs = page.getByRole('list', { name: 'Changes' });
  await differs.getByText('extra').waitFor();
  const apply = page.getByRole('button', { name: 'Apply', exact: true });
  assert.ok(await apply.isDisabled(), 'a command runs without consent');
  await page.getByLabel(/exactly this/).check();
  await apply.click();
  await differs.getByText('done').waitFor();
  await page.getByRole('button', { name: 'Show changes' }).click();
  await page.getByText('The instance matches the file.').waitFor();

  step('egress, limits and secrets');
  await page.goto(`${origin}/settings?tab=egress`);
  await page.getByText('127.0.0.0/8').first().waitFor();
  await accessible(page, 'egress');
  await page.goto(`${origin}/settings?tab=limits`);
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByLabel('Tier, or server/tool').fill('slow');
  await page.getByLabel('Calls per second').fill('2');
  await page.getByLabel('When exceeded').selectOption('queue');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: 'slow', exact: true }).waitFor();
  await page.goto(`${origin}/settings?tab=secrets`);
  await page.getByRole('button', { name: 'Rotate encryption key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
  await page.getByText(/now use the new encryption key/).waitFor();
  await accessible(page, 'secrets');
  await page.goto(`${origin}/settings?tab=users`);
  await page.getByRole('link', { name: 'vera' }).click();
  await heading('vera');
  await page.getByLabel('Tier', { exact: true }).selectOption('slow');
  const saved = page.waitForResponse((r) => r.request().method() === 'PATCH' && r.ok());
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await saved;
  await page.reload();
  await heading('vera');
  assert.equal(await page.getByLabel('Tier', { exact: true }).inputValue(), 'slow');
  quiet('in settings');

  step('the journal is proved');
  await page.goto(`${origin}/audit`);
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByText(/\d+ records verified/).first().waitFor();
  await accessible(page, 'a proved journal');
  const journal = await download(() => page.getByRole('link', { name: 'Export', exact: true }).click());
  assert.match(journal.trim().split('\n').at(-1), /"head"/);

  step('narrow and dark');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of ['/gallery', '/gallery/github', '/audit', '/settings?tab=files', '/settings?tab=egress', '/settings?tab=secrets']) {
    await page.goto(origin + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForTimeout(400);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${path} is ${wide} px too wide`);
    await accessible(page, `${path}, dark`);
  }
  quiet('at the end');
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`);
  if (faults.length) console.error(faults.join('\n'));
  process.exitCode = 1;
}
await browser.close();
