// Pictures of every screen, light and dark, wide and narrow.
// node shots.mjs LINK FOLDER [only…]
import { mkdirSync } from 'node:fs';
import { open, signIn } from './browser.mjs';
import { addresses } from './screens.mjs';

const [link, folder, ...only] = process.argv.slice(2);
const origin = new URL(link).origin;
mkdirSync(folder, { recursive: true });

const { browser, context, page, faults } = await open();
await signIn(page, link);
const screens = await addresses(page);
const state = await context.storageState();
await context.close();
for (const colorScheme of ['light', 'dark'])
  for (const width of [1440, 390]) {
    const c = await browser.newContext({ storageState: state, viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme, reducedMotion: 'reduce', deviceScaleFactor: 1 });
    const p = await c.newPage();
    for (const [name, path] of Object.entries(screens)) {
      if (only.length && !only.includes(name)) continue;
      await p.goto(origin + path);
      await p.waitForLoadState('load');
      await p.waitForTimeout(700);
      await p.waitForFunction(() => !document.querySelector('main .bone'), undefined, { timeout: 20_000 }).catch(() => {}); // what loads still
      if (name === 'playground') {
        const fields = p.locator('form').getByRole('textbox');
        await fields.nth(0).fill('2');
        await fields.nth(1).fill('40');
        await p.getByRole('button', { name: 'Run', exact: true }).click();
        await p.getByText('success', { exact: true }).first().waitFor();
      }
      for (const details of await p.locator('summary', { hasText: /^Advanced$/ }).all()) await details.click();
      if (name === 'server-tools') await p.getByRole('button', { name: 'More settings of read_graph' }).click();
      if (name === 'gallery-files') await p.getByLabel('Folder').fill('/srv/files');
      if (name === 'audit') {
        await p.getByRole('button', { name: 'Verify' }).click();
        await p.getByText(/records verified/).first().waitFor();
      }
      await p.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png` });
    }
    await c.close();
  }
await browser.close();
if (faults.length) console.error(faults.join('\n'));
console.log(`${folder}: done`);
