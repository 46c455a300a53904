// The demo's dashboard in the console: node dashboard.mjs LINK [PICTURE]. It
// opens, gets its figures, and shows a call that is made while it is open.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { launch, lines, opened, watchMessages } from './apps_host.mjs';
import { signIn } from './browser.mjs';

const [link, picture] = process.argv.slice(2);
const origin = new URL(link).origin;
const browser = await chromium.launch(launch);
const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, reducedMotion: 'reduce' });
const page = await context.newPage();
page.setDefaultTimeout(90_000);
const faults = [];
page.on('pageerror', e => faults.push(e.message));
const outside = [];
page.on('request', r => {
  const { hostname, protocol } = new URL(r.url());
  if (protocol.startsWith('http') && hostname !== '127.0.0.1' && !hostname.endsWith('.localhost')) outside.push(r.url());
});
try {
  await watchMessages(page);
  await signIn(page, link);
  const { id, frame } = await opened(page, origin, 'dashboard__show');
  await frame.getByText(/all calls, as of/).waitFor();
  assert.equal(await frame.getByText('demo / add', { exact: true }).count(), 0);
  const made = await page.evaluate(async () => {
    const res = await fetch('/api/v1/tools/demo__add/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Junctor-Console': '1' },
      body: JSON.stringify({ arguments: { a: 2, b: 40 } }),
    });
    return res.status;
  });
  assert.equal(made, 200);
  await frame.getByText('demo / add', { exact: true }).first().waitFor();
  const polls = lines(page).filter(m => m.view === id && m.to === 'host' && m.method === 'tools/call');
  assert.ok(polls.length > 0 && polls.every(m => m.params.name === 'poll'), 'the page asks for its figures by its own tool alone');
  if (picture) await page.screenshot({ path: picture, fullPage: true });
  assert.deepEqual(faults, []);
  assert.deepEqual(outside, []);
  console.log(`${polls.length} looks at the figures`);
} catch (err) {
  console.error(err);
  console.error(`at ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`);
  process.exitCode = 1;
}
await browser.close();
