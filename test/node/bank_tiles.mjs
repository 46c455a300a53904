// A map of tiles in a room of the console.
// node bank_tiles.mjs LINK QUESTION [PICTURE]: the last line is the attribution that is shown.
import assert from 'node:assert/strict';
import { open, signIn } from './browser.mjs';

const [link, question, picture] = process.argv.slice(2);
const { browser, page, faults } = await open();
try {
  page.setDefaultTimeout(60_000);
  await signIn(page, link);
  await page.goto(`${new URL(link).origin}/chat?new=1`);
  await page.getByRole('dialog').getByLabel('Name').fill('Den');
  await page.getByRole('checkbox', { name: 'bank' }).check();
  await page.getByRole('button', { name: 'Create room' }).click();
  await page.locator('.room-head .dot.good').waitFor();
  await page.locator('.composer textarea, textarea').first().fill(question);
  await page.keyboard.press('Enter');
  await page.locator('.sf-map .leaflet-tile-loaded').first().waitFor();
  assert.equal(await page.locator('.sf-map-note').count(), 0, 'a map of tiles says that tiles are missing');
  assert.deepEqual(faults, []);
  if (picture) await page.screenshot({ path: picture });
  console.log(await page.locator('.sf-map .leaflet-control-attribution').innerText());
} finally {
  await browser.close();
}
