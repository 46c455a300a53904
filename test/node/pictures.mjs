// The pictures of the documents.
// node pictures.mjs LINK FOLDER URL-OF-A-SERVER URL-OF-AN-API
import { open, signIn } from './browser.mjs';

const [link, folder, url, api] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, context, page, faults } = await open({ viewport: { width: 1200, height: 760 } });
page.setDefaultTimeout(90_000);
await signIn(page, link);
const button = (name) => page.getByRole('button', { name, exact: true });
const shoot = async (name, colorScheme) => {
  await page.emulateMedia({ colorScheme });
  await page.mouse.move(0, 0);
  await page.waitForTimeout(600);
  await page.screenshot({ path: `${folder}/console-${name}.png` });
};

await page.goto(`${origin}/servers/add`);
await page.getByLabel('URL').fill(url);
await page.getByLabel('ID', { exact: true }).fill('everything-else');
await button('Test connection').click();
await page.getByRole('heading', { name: /\d+ tools/ }).waitFor();
await shoot('wizard', 'light');

await page.goto(`${origin}/servers/add?how=api`);
await page.getByLabel('URL of the documentation').fill(`${api}/openapi.yaml`);
await button('Read').click();
await page.getByRole('tab', { name: /^Problems/ }).click();
await page.getByRole('button', { name: /unresolved_ref/ }).first().click();
await page.locator('.source [aria-current]').first().waitFor();
await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight - window.innerHeight - 40));
await shoot('api', 'light');

await page.goto(`${origin}/playground?name=demo__ask`);
await button('Run').click();
await page.getByRole('form', { name: 'Input request' }).getByRole('textbox').first().fill('Ada');
await page.goto(`${origin}/playground?name=everything__get-structured-content`);
await page.getByRole('combobox').first().selectOption({ index: 1 });
await button('Run').click();
await page.getByText('success', { exact: true }).first().waitFor();
await page.getByRole('tab', { name: 'Structured' }).click();
await shoot('playground', 'light');

await page.getByRole('link', { name: 'Call details' }).click();
await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
await page.locator('.waterfall').waitFor();
await shoot('call', 'dark');

await page.goto(`${origin}/servers/lazy?tab=sign-in`);
const [other] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'Log in' }).first().click()]);
await other.getByRole('button').first().click();
await other.locator('.btn.approve').click();
await other.getByText('You are logged in to').waitFor();
await other.close();
await page.bringToFront();
await page.getByText('logged in', { exact: true }).waitFor();
await page.getByText('Login completed').waitFor();
await page.getByText('Login completed').scrollIntoViewIfNeeded();
await page.evaluate(() => window.scrollTo(0, 268));
await shoot('sign-in', 'light');

await page.goto(`${origin}/agents/helper?tab=list`);
await page.getByText('All (incl. future)').first().waitFor();
await shoot('agent', 'dark');

await page.goto(origin);
await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
await page.evaluate(() => localStorage.setItem('junctor-guide-hidden', 'true'));
await page.reload();
await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
await shoot('overview', 'light');

await browser.close();
if (faults.length) console.error(faults.join('\n'));
console.log(`${folder}: seven pictures`);
