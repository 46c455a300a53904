// Writes the code snippets of the playground to files, as a user copies them.
// node snippets_console.mjs LINK FOLDER ARGUMENTS
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open, signIn } from './browser.mjs';

const [link, folder, text] = process.argv.slice(2);
const origin = new URL(link).origin;
const { browser, page, faults } = await open();
page.setDefaultTimeout(90_000);
const files = { curl: 'call.sh', junctor: 'cli.sh', Go: 'main.go', TypeScript: 'call.mts', Python: 'call.py' };

// take writes what is shown for some languages.
async function take(path, prefix, languages) {
  await page.goto(origin + path);
  await page.getByLabel('Arguments as JSON').fill(text);
  await page.getByText('Code snippets', { exact: true }).click();
  for (const name of languages) {
    await page.getByRole('tab', { name, exact: true }).click();
    const shown = await page.locator('details pre').first().textContent();
    writeFileSync(join(folder, prefix + files[name]), `${shown}\n`);
  }
}
try {
  await signIn(page, link);
  await take('/playground?name=demo__echo', 'tool-', Object.keys(files));
  if (faults.length) throw new Error(faults.join('\n'));
} catch (err) {
  console.error(err, page.url());
  process.exitCode = 1;
}
await browser.close();
