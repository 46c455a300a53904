// A hostile App in the console. The last line that is printed is what was seen.
// node hostile.mjs escapes LINK | leave LINK | apart LINK LINK
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { launch, opened } from './apps_host.mjs';
import { signIn } from './browser.mjs';

const [what, ...links] = process.argv.slice(2);
const origin = new URL(links[0]).origin;
const browser = await chromium.launch(launch);

async function person(link) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const surprises = [];
  page.on('popup', (p) => surprises.push(`a window opened: ${p.url()}`));
  page.on('dialog', (d) => {
    surprises.push(`a dialog opened: ${d.message()}`);
    void d.dismiss();
  });
  page.on('pageerror', (e) => surprises.push(`an error on the page: ${e.message}`));
  await signIn(page, link);
  return { context, page, surprises };
}

const does = {
  async escapes() {
    const { page, surprises } = await person(links[0]);
    const { frame, id } = await opened(page, origin, 'hostile__all');
    await frame.waitForFunction(() => window.done === true, undefined, { timeout: 240_000 });
    const tried = await frame.evaluate(() => window.tried);
    assert.equal(new URL(page.url()).origin, origin, 'the console is still there');
    // The log as the person saves it: everything that was said and stopped.
    await page.waitForTimeout(2500); // reports of the browser come a moment later, and the screen reads them every two seconds
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download', exact: true }).click()]);
    const log = JSON.parse(readFileSync(await download.path(), 'utf8'));
    const view = await page.evaluate(async (v) => (await fetch(`/api/v1/views/${v}`)).json(), id);
    assert.equal(await page.evaluate(() => ({}).polluted), undefined, 'nothing was polluted');
    assert.ok((await page.locator('.view-box').evaluate((e) => e.clientHeight)) <= 4000, 'the frame has a bound');
    // The session is what it was, whatever cookies were tossed.
    assert.equal(await page.evaluate(async () => (await fetch('/api/v1/me')).status), 200);
    return { tried, log: log.map((e) => JSON.stringify(e)), policy: view.policy, errors: surprises };
  },

  async leave() {
    const { page, surprises } = await person(links[0]);
    const out = {};
    for (const way of ['navigate', 'form', 'meta', 'window', 'script']) {
      const { frame } = await opened(page, origin, 'hostile__leave');
      await frame.waitForFunction(() => window.done === true);
      await frame.evaluate((w) => window.leave(w), way).catch(() => {}); // the page may be gone before it answers
      await page.getByText('The App left its sandbox').or(page.locator('.view[data-state=ready]')).first().waitFor();
      // A form is refused without a new page; the rest ends the View.
      const left = page.getByText('The App left its sandbox');
      if (way === 'form') out[way] = 'refused';
      else {
        await left.waitFor();
        await page.getByRole('button', { name: 'Reload', exact: true }).click();
        await page.locator('.view[data-state=ready]').waitFor();
        out[way] = 'left, and opened anew';
      }
      assert.equal(new URL(page.url()).origin, origin);
    }
    assert.deepEqual(surprises, []);
    return out;
  },

  async apart() {
    const seen = [];
    const [ada, vera] = [await person(links[0]), await person(links[1])];
    const one = await opened(ada.page, origin, 'hostile__leave');
    const second = await ada.context.newPage();
    const two = await opened(second, origin, 'hostile__leave');
    const hers = await opened(vera.page, origin, 'hostile__leave');
    const ids = [one.id, two.id, hers.id];
    if (new Set(ids).size !== 3) seen.push('Views share an id');
    for (const id of ids) if (!/^[a-z2-7]{26}$/.test(id)) seen.push(`${id} is no 128 bits`);
    // Storage, and channels, are each View's own.
    await one.frame.evaluate(() => {
      localStorage.setItem('canary', 'one');
      window.heard = [];
      new BroadcastChannel('x').onmessage = (e) => window.heard.push(e.data);
    });
    for (const v of [two, hers])
      if ((await v.frame.evaluate(() => {
        new BroadcastChannel('x').postMessage('other');
        return localStorage.getItem('canary');
      })) !== null) seen.push('a View reads the storage of another');
    if ((await one.frame.evaluate(() => window.heard.length)) > 0) seen.push('a View hears another');
    // Another person's View is not there, by any route.
    const ask = (page, method, path, body) =>
      page.evaluate(
        async ([m, p, b]) =>
          (await fetch(p, { method: m, headers: { 'X-Junctor-Console': '1', 'Content-Type': 'application/json' }, body: b ? JSON.stringify(b) : null })).status,
        [method, `/api/v1/views/${path}`, body],
      );
    for (const [method, path, body] of [
      ['GET', one.id],
      ['GET', `${one.id}/log`],
      ['POST', `${one.id}/rpc`, { method: 'tools/list', params: {} }],
      ['POST', `${one.id}/log`, { entries: [{ kind: 'note' }] }],
      ['DELETE', one.id],
    ]) {
      const status = await ask(vera.page, method, path, body);
      const none = await ask(vera.page, method, path.replace(one.id, 'a'.repeat(26)), body);
      if (status !== 404 || none !== 404) seen.push(`${method} ${path} answers another person ${status}, and ${none} for what is not there`);
    }
    if ((await ask(ada.page, 'GET', one.id)) !== 200) seen.push('the View is gone for its own person');
    const list = await vera.page.evaluate(async () => (await (await fetch('/api/v1/views')).json()).items.map((v) => v.id));
    if (list.includes(one.id)) seen.push('a list names the View of another person');
    // A View ends with its session.
    const pageOf = await ada.page.evaluate(async (v) => (await (await fetch(`/api/v1/views/${v}`)).json()).page, one.id);
    await second.bringToFront();
    await second.locator('.whoami').click();
    await second.getByRole('menuitem', { name: 'Sign out' }).click();
    await second.waitForURL(/\/log(in|out)/);
    const me = await ada.page.evaluate(async () => (await fetch('/api/v1/me')).status);
    if (me !== 401) seen.push(`who has signed out is answered ${me}: ${(await second.textContent('body')).slice(0, 300)}`);
    const probe = await ada.context.newPage();
    const answer = await probe.goto(pageOf);
    if (answer?.status() !== 404) seen.push(`the page of an ended session answers ${answer?.status()}`);
    await vera.page.bringToFront();
    if ((await ask(vera.page, 'GET', hers.id)) !== 200) seen.push('a View ended with the session of another person');
    return { seen };
  },
};

const result = await does[what]();
await browser.close();
console.log(JSON.stringify(result));
