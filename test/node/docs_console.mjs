// The documentation that the binary serves, the console's links to it, and the keyboard
// shortcuts.
// node docs_console.mjs pages LINK | shortcuts LINK
import assert from 'node:assert/strict';
import { accessible, open, signIn } from './browser.mjs';

const [what, link] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, context, page, faults } = await open();
page.setDefaultTimeout(90_000);
const begun = Date.now();
const step = (name) => console.log(`${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${name}`);
const quiet = (when) => assert.deepEqual(faults, [], when);
const heading = (name, on = page) => on.getByRole('heading', { level: 1, name, exact: true }).waitFor();

// look fails if a page keeps people out or is too wide, light and dark, wide and narrow.
async function look(on, name) {
  for (const colorScheme of ['light', 'dark'])
    for (const width of [1440, 390]) {
      await on.emulateMedia({ colorScheme });
      await on.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      const wide = await on.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
      await accessible(on, `${name}, ${colorScheme}, ${width} px`);
    }
  await on.emulateMedia({ colorScheme: 'light' });
  await on.setViewportSize({ width: 1440, height: 900 });
}

const tours = {
  async pages() {
    step('the pages need no sign-in, and no script');
    const res = await page.goto(`${origin}/docs`);
    assert.equal(page.url(), `${origin}/docs/`);
    assert.ok(!/script/.test(res.headers()['content-security-policy']));
    assert.equal(await page.evaluate(() => document.scripts.length), 0);
    await heading('Documentation');
    await look(page, 'the first page');

    step('links lead from page to page, and to headings');
    const index = page.getByRole('navigation', { name: 'Pages' });
    await index.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await heading('Deliveries');
    assert.equal(await index.getByRole('link', { name: 'Deliveries', exact: true }).getAttribute('aria-current'), 'page');
    await page.getByRole('article').getByRole('link', { name: 'Events', exact: true }).first().click();
    await heading('Events');
    await page.getByRole('link', { name: /^Next/ }).click();
    await heading('Deliveries');
    await page.goto(`${origin}/docs/guides/servers.md#credentials`);
    await page.waitForURL(`${origin}/docs/guides/servers#credentials`);
    const top = await page.locator('#credentials').evaluate((h) => h.getBoundingClientRect().top);
    assert.ok(top > 40 && top < 200, `the heading is at ${top} px`);
    for (const path of ['guides/console', 'reference/settings', 'reference/api/servers', 'reference/tested-with', 'operate/access', 'start/one-endpoint']) {
      await page.goto(`${origin}/docs/${path}`);
      await look(page, path);
    }
    const pictures = await page.goto(`${origin}/docs/guides/console`).then(() => page.locator('article img').count());
    assert.ok(pictures > 0);
    await page.locator('article img').first().scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector('article img').naturalWidth > 0);

    step('a search shows sections, with their text');
    const search = async (words) => {
      await page.getByRole('searchbox', { name: 'Search the docs' }).fill(words);
      await page.keyboard.press('Enter');
      await heading('Search');
      assert.equal(await page.getByRole('searchbox').inputValue(), words);
    };
    await search('egress-allow');
    await look(page, 'a search');
    await page.getByRole('main').getByRole('link', { name: /Outgoing connections/ }).first().click();
    await page.waitForURL(/\/docs\/reference\/settings#outgoing-connections$/);
    for (const [words, found] of [['dead letter', /Deliveries|console/], ['OIDC', /identity provider|OpenID/]]) {
      await search(words);
      await page.getByRole('main').getByRole('link', { name: found }).first().waitFor();
      assert.ok((await page.locator('mark').count()) > 0);
    }
    await search('"><img src=x onerror=alert(1)>');
    assert.equal(await page.locator('main img').count(), 0);
    await search('qqqqzzzz');
    await page.getByText('No section matches').waitFor();
    quiet('in the documentation');

    step('a page that is missing offers the search');
    const missing = await page.goto(`${origin}/docs/guides/nothing`);
    assert.equal(missing.status(), 404);
    await heading('Page not found');
    await look(page, 'a missing page');
    faults.splice(0, faults.length, ...faults.filter((f) => !/404/.test(f)));
    quiet('at a missing page');
  },

  async shortcuts() {
    await signIn(page, link);
    step('each screen links its page of the documentation');
    const docs = page.getByRole('link', { name: 'Docs', exact: true }).filter({ visible: true });
    for (const [path, title] of [['/', 'The console'], ['/servers', 'Servers'], ['/chat', null], ['/settings?tab=keys', 'Access'], ['/nothing', 'The console']]) {
      await page.goto(origin + path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      const [tab] = await Promise.all([context.waitForEvent('page'), docs.click()]);
      await tab.getByRole('heading', { level: 1 }).waitFor();
      assert.ok(tab.url().startsWith(`${origin}/docs/`), tab.url());
      if (title) await heading(title, tab);
      await tab.close();
    }
    faults.splice(0, faults.length, ...faults.filter((f) => !/404/.test(f)));
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(origin);
    await docs.waitFor();
    await accessible(page, 'the link on a phone');
    await page.setViewportSize({ width: 1440, height: 900 });

    step('an error offers the screen before it quotes the command');
    await page.goto(`${origin}/tools?server=nothing`);
    const fault = page.getByRole('alert');
    await fault.getByText(/junctor server ls/).first().waitFor();
    await accessible(page, 'an error');
    await fault.getByRole('link', { name: 'Servers', exact: true }).click();
    await page.waitForURL(`${origin}/servers`);
    faults.splice(0, faults.length, ...faults.filter((f) => !/404|422/.test(f)));
    await page.goto(origin);

    step('keys open screens');
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await heading('Overview');
    await press('g', 's');
    await heading('Servers');
    await press('g', 'c');
    await heading('Calls');
    await press('g', 'z', 's');
    await page.keyboard.down('Control');
    await press('g');
    await page.keyboard.up('Control');
    await press('s');
    await heading('Calls');

    step('? lists them');
    await press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByText('Go to a screen').waitFor();
    await look(page, 'the shortcuts');
    await press('g', 's');
    await press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await heading('Calls');
    await page.locator('.rail .whoami').click();
    await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click();
    await dialog.waitFor();
    await press('Escape');
    await dialog.waitFor({ state: 'hidden' });

    step('they do nothing in a field');
    await press('g', 't');
    await heading('Tools');
    await press('Control+k');
    await page.getByRole('combobox', { name: 'Find' }).waitFor();
    await page.keyboard.type('gs?');
    assert.equal(await page.getByRole('combobox', { name: 'Find' }).inputValue(), 'gs?');
    await press('Escape');
    await page.getByRole('combobox', { name: 'Find' }).waitFor({ state: 'hidden' });
    const field = page.getByRole('main').getByRole('textbox').first();
    await field.fill('');
    await field.pressSequentially('gs?');
    assert.equal(await field.inputValue(), 'gs?');
    await heading('Tools');
    assert.equal(await dialog.count(), 0);

    step('they can be switched off, and stay off');
    await field.fill('');
    await field.blur();
    await press('?');
    await dialog.getByRole('switch', { name: 'Use shortcuts' }).setChecked(false, { force: true });
    await press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.reload();
    await heading('Tools');
    await press('g', 's', '?');
    await heading('Tools');
    assert.equal(await dialog.count(), 0);
    quiet('with shortcuts');
  },
};

try {
  await tours[what]();
  step('done');
} finally {
  await browser.close();
}
