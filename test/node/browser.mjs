// A browser that notices what a person would not: errors on its console and
// breaches of the content security policy.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// accessible looks for what keeps people out. The script is put in past the
// page's policy, by the browser's own tools.
export const accessible = async (page, where) => assert.deepEqual(await barriers(page, where), []);

// barriers lists serious accessibility findings. `only` names the axe rules to run; by
// default all rules run.
export async function barriers(page, where, only) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axe);
  const found = await page.evaluate(async (only) => {
    // Colours that are on their way to others are nobody's.
    const still = new CSSStyleSheet();
    still.replaceSync('*, *::before, *::after { transition: none !important; animation: none !important; }');
    document.adoptedStyleSheets.push(still);
    try {
      return await window.axe.run(document, { resultTypes: ['violations'], ...(only && { runOnly: only }) });
    } finally {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== still);
    }
  }, only);
  const grave = found.violations.filter((v) => ['serious', 'critical'].includes(v.impact));
  return grave.map((v) => `${where}: ${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.any[0]?.message ?? ''}`).slice(0, 3).join(' | ')}`);
}

export async function open(options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const faults = [];
  watch(page, faults);
  return { browser, context, page, faults };
}

export function watch(page, faults) {
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') faults.push(`${page.url()}: ${m.type()}: ${m.text()} (${m.location().url})`);
  });
  page.on('pageerror', (e) => faults.push(`${page.url()}: ${e.message}`));
  page.on('dialog', (d) => {
    // The browser asks before a form is left that has changes; a flow that leaves it means to.
    if (d.type() === 'beforeunload') return void d.accept();
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
