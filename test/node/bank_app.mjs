// The map's own App where the bank answers, in a room of the console.
// node bank_app.mjs LINK QUESTION CESIUM [PICTURE]: the last line is what the App was told.
import { chromium } from 'playwright-core';
import { launch, lines, serveCesium, watchMessages } from './apps_host.mjs';
import { signIn } from './browser.mjs';

const [link, question, cesium, picture] = process.argv.slice(2);
const origin = new URL(link).origin;
const browser = await chromium.launch(launch);
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, reducedMotion: 'reduce' });
  await serveCesium(context, cesium);
  const page = await context.newPage();
  page.setDefaultTimeout(90_000);
  await watchMessages(page);
  await signIn(page, link);
  await page.goto(`${origin}/chat?new=1`);
  await page.getByRole('dialog').getByLabel('Name').fill('Den');
  await page.getByRole('checkbox', { name: 'bank' }).check();
  await page.getByRole('button', { name: 'Open it' }).click();
  await page.locator('.room-head .dot.good').waitFor();
  await page.locator('.composer textarea, textarea').first().fill(question);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Always in this room' }).click(); // the map leads out of the house
  const told = () => lines(page).find((m) => m.to === 'view' && m.method === 'ui/notifications/tool-input' && m.params.arguments.label);
  for (const end = Date.now() + 60_000; !told(); await page.waitForTimeout(100)) if (Date.now() > end) break;
  if (picture) {
    await page.waitForTimeout(8000); // for the tiles
    await page.screenshot({ path: picture });
  }
  if (!told()) throw new Error(`the App is not told where: ${JSON.stringify(lines(page).map((m) => [m.to, m.method, m.error]))}`);
  console.log(JSON.stringify(told().params.arguments));
} finally {
  await browser.close();
}
