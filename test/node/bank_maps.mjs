// The bank's map in a room of the console, whatever becomes of the map's own App.
// node bank_maps.mjs JSON, of which
//   link: signs in, question, label: of the place, control: has the test approve the App (/approve), stop the map
//   server (/stop) and remove it (/remove), cesium: the folder of the library, or "" for one that draws nothing,
//   shots: a folder for pictures, or "".
// The last line is what the App was told.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { frameOf, launch, lines, serveCesium, watchMessages } from './apps_host.mjs';
import { accessible, signIn } from './browser.mjs';

const { link, question, label, control, cesium, shots } = JSON.parse(process.argv[2]);
const origin = new URL(link).origin;
const browser = await chromium.launch(launch);
let mode = '';

// blank is a Cesium whose every member is there, can be called and draws nothing: the
// page of the map begins once it has made a globe, and needs no WebGL that way.
const blank = `(() => {
  const thing = new Proxy(function () {}, {
    get: (_, name) => (name === 'then' ? undefined : name === Symbol.toPrimitive ? () => 1 : name === 'prototype' ? {} : thing),
    set: () => true, apply: () => thing, construct: () => thing,
  });
  window.Cesium = thing;
})();`;

async function withoutNetwork(context) {
  if (cesium) await serveCesium(context, cesium);
  await context.route(/^https:\/\//, (route) => { // asked before the one above
    if (mode === 'failing') return route.abort();
    if (cesium) return route.fallback();
    const script = new URL(route.request().url()).pathname.endsWith('.js');
    return route.fulfill({ contentType: script ? 'text/javascript' : 'text/css', headers: { 'Access-Control-Allow-Origin': '*' }, body: script ? blank : '' });
  });
}

async function ask(page) {
  await page.goto(`${origin}/chat?new=1`);
  await page.getByRole('dialog').getByLabel('Name').fill(`Den ${mode}`);
  await page.getByRole('checkbox', { name: 'bank' }).check();
  await page.getByRole('button', { name: 'Create room' }).click();
  await page.locator('.room-head .dot.good').waitFor();
  await page.locator('.composer textarea, textarea').first().fill(question);
  await page.keyboard.press('Enter');
}

const pin = (page) => page.locator(`.sf-pin[data-label="${label}"]`);
const shown = (page, which) => page.locator(`.sf-app[data-shown=${which}]`).waitFor();

// plain holds that the answer is the answer: nobody is asked for a word, and no rows
// and no ids of the bank stand before it.
async function plain(page) {
  assert.equal(await page.getByRole('button', { name: 'Always allow in this room' }).count(), 0, 'a word is asked for');
  assert.equal(await page.locator('.app-place').count(), 0, 'an App of a call stands before the answer');
  const text = await page.locator('.talk').innerText();
  assert.ok(!text.includes('tx_acc') && !text.includes('acc_current'), `ids of the bank are shown: ${text}`);
  assert.ok(text.includes('£45.32'), `the amount has no currency: ${text}`);
}

async function pictures(page) {
  if (!shots) return;
  for (const [width, height] of [[1440, 1000], [390, 844]])
    for (const scheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.evaluate((s) => localStorage.setItem('mantine-color-scheme-value', s), scheme);
      await page.reload();
      await page.locator('.sf-app').waitFor();
      await page.waitForTimeout(1500); // for the outlines, and for what is on its way
      await page.screenshot({ path: join(shots, `bank-${mode}-${width}-${scheme}.png`) });
    }
}

// open waits for the App: it begins in time on a quick machine; on a slow one somebody
// asks for it.
async function open(page) {
  const button = page.getByRole('button', { name: 'Open the App show-map' });
  await page.locator('.sf-app[data-shown=app]').or(button).first().waitFor();
  if (await button.count()) await button.click();
  await page.locator('.sf-app[data-shown=app] .view[data-state=ready]').waitFor({ timeout: 90_000 });
}

const steps = {
  async unapproved(page) {
    await ask(page);
    await pin(page).waitFor();
    await shown(page, 'fallback');
    await plain(page);
    await page.locator('.sf-app-note', { hasText: 'is not approved' }).waitFor();
    await page.locator('.sf-map-note', { hasText: 'For streets, the operator sets --map-tiles' }).waitFor();
    assert.equal(await page.locator('iframe').count(), 0, 'a page that nobody approved is loaded');
    await accessible(page, 'the map in a room');
    await pictures(page);
  },
  async approved(page) {
    await ask(page);
    await page.locator('.sf-app').waitFor();
    await open(page);
    await plain(page);
    assert.equal(await page.locator('.sf-pin').count(), 0, 'both maps are shown');
    const told = () => lines(page).find((m) => m.to === 'view' && m.method === 'ui/notifications/tool-input' && m.params.arguments.label === label);
    for (const end = Date.now() + 60_000; !told(); await page.waitForTimeout(50)) assert.ok(Date.now() < end, 'the App is not told where');
    await pictures(page);
    if (shots) {
      await page.setViewportSize({ width: 1440, height: 1000 });
      await open(page);
    }
    // It goes somewhere else: it is stopped, and the map that needs nobody is there.
    const id = lines(page).findLast((m) => m.to === 'view').view;
    const frame = await frameOf(page, id);
    await frame.evaluate(() => location.replace('about:blank')).catch(() => undefined);
    await pin(page).waitFor();
    await shown(page, 'fallback');
    await page.locator('.sf-app-note', { hasText: 'left its sandbox' }).waitFor();
    return told().params.arguments;
  },
  async failing(page) {
    await ask(page);
    await pin(page).waitFor();
    await page.getByRole('button', { name: 'Open the App show-map' }).waitFor();
    await pin(page).waitFor();
    await shown(page, 'fallback');
    assert.equal(await page.locator('iframe:not(.limbo)').count(), 0, 'the frame stays');
    await plain(page);
    await pictures(page);
  },
  async gone(page) { // what was answered while the server was there
    await page.goto(`${origin}/chat`);
    await page.getByRole('link', { name: 'Den unapproved' }).click();
    await page.getByRole('button', { name: 'Open the App show-map' }).waitFor();
    await pin(page).waitFor();
    await shown(page, 'fallback');
    await pictures(page);
  },
  async list(page) { // what is asked after it has gone
    await ask(page);
    await page.getByText("I couldn't load the map. Here are the transaction details.").waitFor();
    await page.locator('.sf-bank .sf-line').first().waitFor();
    await plain(page);
  },
};

try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, reducedMotion: 'reduce' });
  await withoutNetwork(context);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await watchMessages(page);
  await signIn(page, link);
  let told;
  for (const [step, before] of [['unapproved'], ['approved', 'approve'], ['failing'], ['list', 'stop'], ['gone', 'remove']]) {
    mode = step;
    if (before) {
      const done = await fetch(`${control}/${before}`, { method: 'POST' });
      assert.equal(done.status, 200, await done.text());
    }
    const began = Date.now();
    try {
      told = (await steps[step](page)) ?? told;
    } catch (err) {
      if (shots) await page.screenshot({ path: join(shots, `bank-${step}-failed.png`) });
      throw new Error(`${step}: ${err.message}`, { cause: err });
    }
    console.error(`${step}: ${Date.now() - began} ms`);
  }
  console.log(JSON.stringify(told));
} finally {
  await browser.close();
}
