// A browser that notices what a person would not: errors on its console and
// breaches of the content security policy.
import { chromium } from 'playwright-core';

export async function open(options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const faults = [];
  watch(page, faults);
  return { browser, context, page, faults };
}

export function watch(page, faults) {
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') faults.push(`${page.url()}: ${m.type()}: ${m.text()}`);
  });
  page.on('pageerror', (e) => faults.push(`${page.url()}: ${e.message}`));
  page.on('dialog', (d) => {
    faults.push(`${page.url()}: a dialog opened: ${d.message()}`);
    void d.dismiss();
  });
}

// signIn goes through a link as a person would.
export async function signIn(page, link) {
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Screens' }).first().waitFor();
}
