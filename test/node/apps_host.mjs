// What tests of Apps have in common: a browser that can draw, and a View in the
// console that has begun.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const launch = {
  executablePath: process.env.CHROMIUM,
  // Only Apps of the long form need WebGL, which the CPU has to render.
  args: ['--no-sandbox', ...(process.env.JUNCTOR_LONG ? ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] : ['--disable-gpu'])],
};

// frameOf is the frame of a View's page.
export async function frameOf(page, id, limit = 60_000) {
  for (const end = Date.now() + limit; Date.now() < end; await page.waitForTimeout(50)) {
    const frame = page.frames().find((f) => f.url().includes(`//a-${id}.`) || f.url().includes(`/a/${id}`));
    if (frame) return frame;
  }
  throw new Error(`the View ${id} has no page`);
}

// opened goes to an App and waits until its View has begun, or has another state.
export async function opened(page, origin, name, state = 'ready') {
  const opens = page.waitForResponse((r) => r.request().method() === 'POST' && new URL(r.url()).pathname === '/api/v1/views');
  await page.goto(`${origin}/apps/${encodeURIComponent(name)}`);
  const view = await (await opens).json();
  if (!view.id) throw new Error(`no View of ${name}: ${JSON.stringify(view)}`);
  if (state !== 'any') await page.locator(`.view[data-state=${state}]`).waitFor({ timeout: 90_000 });
  return { id: view.id, view, frame: await frameOf(page, view.id) };
}

// watchMessages takes down what is said between the console and its Views, where
// it is heard.
const said = new WeakMap();
export const lines = (page) => said.get(page) ?? [];
export async function watchMessages(page) {
  const list = [];
  said.set(page, list);
  await page.exposeBinding('heard', (_source, m) => void list.push(m));
  await page.addInitScript(() => {
    const idIn = (name) => /\b[ap]-([a-z2-7]{26})\./.exec(name)?.[1];
    const view = window === window.top ? undefined : idIn(location.hostname);
    if (window !== window.top && !location.hostname.startsWith('a-')) return;
    window.addEventListener('message', (e) => {
      const { id, method, params, result, error } = e.data ?? {};
      const of = view ?? idIn(e.origin);
      if (of) void window.heard({ to: view ? 'view' : 'host', view: of, at: performance.timeOrigin + performance.now(), id, method, params, result, error });
    });
  });
}

// serveCesium answers in the place of the network: the library from its package,
// and tiles of one colour.
export async function serveCesium(context, root) {
  await context.route(/^https:\/\//, (route) => {
    const at = new URL(route.request().url());
    const file = join(root, at.pathname.replace(/^.*\/Build\/Cesium\//, ''));
    if (/cesium/.test(at.host) && existsSync(file)) return route.fulfill({ path: file, headers: { 'Access-Control-Allow-Origin': '*' } });
    return route.fulfill({
      contentType: 'image/svg+xml',
      headers: { 'Access-Control-Allow-Origin': '*' },
      body: '<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"><rect width="256" height="256" fill="#9cc"/></svg>',
    });
  });
}
