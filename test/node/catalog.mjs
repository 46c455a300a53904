// A component of a registered catalog in a room of the console.
// node catalog.mjs LINK QUESTION [PICTURE]: the last line is what is shown.
import assert from 'node:assert/strict';
import { open, signIn } from './browser.mjs';

const [link, question, picture] = process.argv.slice(2);
const { browser, page, faults } = await open();
try {
  page.setDefaultTimeout(60_000);
  await signIn(page, link);
  await page.goto(`${new URL(link).origin}/chat?new=1`);
  await page.getByRole('dialog').getByLabel('Name').fill('Depot');
  await page.getByRole('checkbox', { name: 'lorry' }).check();
  await page.getByRole('button', { name: 'Create room' }).click();
  await page.locator('.room-head .dot.good').waitFor();
  await page.locator('.composer textarea, textarea').first().fill(question);
  await page.keyboard.press('Enter');
  const card = page.locator('.surface .sf-card');
  await card.waitFor();
  assert.equal(await page.locator('.sf-unknown').count(), 0, 'a placeholder is shown');
  assert.deepEqual(faults, []);
  if (picture) await page.screenshot({ path: picture });
  console.log((await card.innerText()).replace(/\s+/g, ' '));
} finally {
  await browser.close();
}
