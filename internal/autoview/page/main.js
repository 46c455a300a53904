// The page: one tool's answer, its Views as tabs, and the calls that lead on.
import { h, show } from './dom.js';
import { choose } from './choose.js';
import { drawChart } from './chart.js';
import { drawForm } from './form.js';
import { drawMap } from './map.js';
import { drawRecord } from './record.js';
import { drawRaw, drawText } from './text.js';
import { drawTable } from './table.js';
import { formats } from './format.js';
import { nextCalls, nextPage, ownName, readsOnly } from './next.js';
import { readResult } from './result.js';
import { humanName, isEmpty, isObject, isScalar, own } from './value.js';
import { resolve } from './schema.js';

const names = { table: 'Table', record: 'Details', chart: 'Chart', map: 'Map', text: 'Text', raw: 'Raw', form: 'Call' };
const root = document.getElementById('view');
const page = { tool: { name: '' }, tools: [], args: {}, steps: [], now: undefined, busy: '', context: {} };
let capabilities = {}; // of the host

const env = {
  format: formats(),
  width: () => Math.max(240, root.clientWidth),
  open: (url) => app.open(url).catch((e) => trouble(e.message)),
  pick: (index) => {
    page.now.row = index;
    page.now.tab = 'row';
    draw();
  },
};

// titleOf is what people call a tool.
const titleOf = (tool) => {
  const title = own(tool, 'title') ?? own(own(tool, 'annotations'), 'title');
  return typeof title === 'string' && title.trim() ? title.slice(0, 120) : humanName(ownName(own(tool, 'name') ?? ''));
};

// step is one answer on the way through several.
function step(tool, args, result) {
  const read = readResult(result);
  const schema = isObject(own(tool, 'outputSchema')) ? unwrapped(tool.outputSchema, read) : {};
  const plan = choose(read, schema);
  return { tool, args, read, schema, plan, tab: plan.first, row: undefined, form: undefined };
}

// unwrapped is the schema of what the answer was wrapped in.
function unwrapped(schema, read) {
  const inner = own(own(resolve(schema, schema), 'properties'), 'result');
  return isObject(inner) && read.value !== read.whole && own(read.whole, 'result') === read.value ? { $defs: own(schema, '$defs'), ...resolve(inner, schema) } : schema;
}

async function call(tool, args) {
  page.busy = titleOf(tool);
  page.trouble = undefined;
  draw();
  try {
    const result = await app.call(tool.name, args);
    if (page.now) page.steps.push(page.now);
    page.now = step(tool, args, result);
    if (capabilities.updateModelContext) void app.context(`In the View, the person called ${tool.name} with ${JSON.stringify(args).slice(0, 2000)}.`).catch(() => undefined);
  } catch (e) {
    page.trouble = e.message;
  }
  page.busy = '';
  draw();
}

function trouble(text) {
  page.trouble = text;
  draw();
}

function draw() {
  const now = page.now;
  if (!now) return show(root, waiting());
  const known = page.tools.find((t) => own(t, 'name') === now.tool.name) ?? now.tool;
  const more = nextPage(known, now.args, now.read, now.plan.found);
  show(root, header(now, known, more), page.trouble && h('p', { class: 'fault', role: 'alert' }, page.trouble), notices(now), h('main', { 'aria-busy': page.busy !== '' }, body(now, known)));
  root.classList.toggle('busy', page.busy !== '');
}

function waiting() {
  const given = Object.entries(page.args).filter(([, v]) => isScalar(v)).slice(0, 8);
  return [
    h('header', {}, h('h1', {}, titleOf(page.tool))),
    h('p', { class: 'faint', role: 'status' }, page.trouble ?? 'Waiting for the answer…'),
    given.length > 0 && h('p', { class: 'chips' }, given.map(([k, v]) => h('span', { class: 'chip' }, `${humanName(k)}: ${env.format.text(v).slice(0, 60)}`))),
  ];
}

function header(now, known, more) {
  const back = page.steps.length > 0 || now.tab === 'row';
  const goBack = () => {
    if (now.tab === 'row') now.tab = now.plan.views.includes('table') ? 'table' : now.plan.first;
    else page.now = page.steps.pop();
    page.trouble = undefined;
    draw();
  };
  const modes = page.context.availableDisplayModes;
  const other = page.context.displayMode === 'fullscreen' ? 'inline' : 'fullscreen';
  const tabs = [...now.plan.views, ...(isObject(own(known, 'inputSchema')) ? ['form'] : [])];
  return h('header', {},
    h('div', { class: 'top' },
      back && h('button', { type: 'button', class: 'quiet', onclick: goBack }, '← Back'),
      h('h1', {}, titleOf(known)),
      more && h('button', { type: 'button', class: 'quiet', disabled: page.busy !== '', onclick: () => void call(known, more) }, 'Next page'),
      Array.isArray(modes) && modes.includes(other) && h('button', { type: 'button', class: 'quiet', onclick: () => void app.mode(other).catch((e) => trouble(e.message)) }, other === 'inline' ? 'Smaller' : 'Full screen')),
    h('div', { class: 'tabs', role: 'tablist' }, tabs.map((t) => h('button', { type: 'button', role: 'tab', 'aria-selected': String(now.tab === t), onclick: () => {
      now.tab = t;
      now.form = undefined;
      draw();
    } }, names[t]))));
}

// notices are what stands around the rows, and what was cut.
function notices(now) {
  const rest = now.plan.found?.rest;
  const said = isObject(rest) ? Object.entries(rest).filter(([, v]) => isScalar(v) && !isEmpty(v) && String(v).length <= 40).slice(0, 6) : [];
  const cut = now.read.cuts.reduce((a, b) => (!a || b.of - b.shown > a.of - a.shown ? b : a), undefined);
  return [
    page.busy && h('p', { class: 'faint', role: 'status' }, `Calling ${page.busy}…`),
    cut && h('p', { class: 'notice' }, `The answer was too large: ${env.format.count(cut.shown)} of ${env.format.count(cut.of)} are here.`),
    now.tab === 'table' && said.length > 0 && h('p', { class: 'chips' }, said.map(([k, v]) => h('span', { class: 'chip' }, `${humanName(k)}: ${env.format.text(v)}`))),
  ];
}

function body(now, known) {
  const calls = { tool: known, tools: page.tools, args: now.args, titleOf };
  switch (now.tab) {
    case 'table':
      return drawTable({ plan: now.plan, env, calls });
    case 'chart':
      return drawChart({ plan: now.plan, env });
    case 'map':
      return drawMap({ plan: now.plan, value: now.read.value, env });
    case 'record':
      return record(now, now.plan.found ? now.plan.found.rest : now.read.value, now.schema, now.schema, calls);
    case 'row':
      return record(now, now.plan.found.rows[now.row], now.plan.found.schema, now.plan.found.root, calls);
    case 'form': {
      const asked = now.form ?? { tool: known, args: now.args };
      return [now.form && h('h2', {}, titleOf(asked.tool)), drawForm({ ...asked, safe: readsOnly(asked.tool), submit: (args) => void call(asked.tool, args) })];
    }
    case 'raw':
      return drawRaw({ read: now.read });
    default:
      return drawText({ read: now.read, env });
  }
}

// record is one object with the calls that it leads to. What changes nothing and
// lacks nothing is called at once, everything else has its form first.
function record(now, value, schema, root1, calls) {
  if (!isObject(value)) return drawRaw({ read: { whole: value } });
  const next = nextCalls(calls.tool, calls.tools, value, calls.args).map((n) => h('button', { type: 'button', class: 'quiet', disabled: page.busy !== '', onclick: () => {
    if (n.whole && readsOnly(n.tool)) return void call(n.tool, n.args);
    now.tab = 'form';
    now.form = { tool: n.tool, args: n.args };
    draw();
  } }, titleOf(n.tool)));
  return [next.length > 0 && h('nav', { class: 'next', 'aria-label': 'Next calls' }, next), drawRecord(value, schema, root1, env)];
}

// learn takes what the host says of itself and of the tool; the bridge has put its
// colours on the page.
function learn(context) {
  const before = page.context;
  page.context = context;
  env.format = formats(context.locale, context.timeZone);
  const insets = own(context, 'safeAreaInsets');
  for (const side of ['top', 'right', 'bottom', 'left']) {
    if (Number.isFinite(own(insets, side))) document.body.style.setProperty(`padding-${side}`, `${insets[side]}px`);
  }
  const tool = own(own(context, 'toolInfo'), 'tool');
  if (isObject(tool) && typeof tool.name === 'string') page.tool = tool;
  document.title = titleOf(page.tool);
  if (['locale', 'timeZone', 'displayMode', 'availableDisplayModes', 'toolInfo'].some((k) => context[k] !== before[k])) draw();
}

// tools reads what else the server has; a host that does not say leaves the View
// with the tool that was called.
async function tools() {
  try {
    const all = [];
    let cursor;
    for (let i = 0; i < 50; i++) {
      const part = await app.request('tools/list', cursor === undefined ? {} : { cursor });
      all.push(...(Array.isArray(part.tools) ? part.tools.filter(isObject) : []));
      cursor = part.nextCursor;
      if (typeof cursor !== 'string') break;
    }
    page.tools = all;
    if (page.now && page.now.tab !== 'form') draw();
  } catch {
    page.tools = [];
  }
}

const app = window.mcpApp({ name: 'junctor-view', version: '1.0.0' }, {
  modes: ['inline', 'fullscreen'],
  context: learn,
  input: (args) => {
    page.args = isObject(args) ? args : {};
    draw();
  },
  partial: (args) => {
    if (page.now) return;
    page.args = isObject(args) ? args : {};
    draw();
  },
  result: (result) => {
    page.steps = [];
    page.now = step(page.tool, page.args, result);
    draw();
  },
  cancelled: (reason) => {
    const why = typeof reason === 'string' && reason ? `: ${reason.slice(0, 200)}` : '';
    trouble(`The call was cancelled${why}.`);
  },
  changed: (kind) => {
    if (kind === 'tools') void tools();
  },
});

// Where the width changes by much, what is drawn to it is drawn anew.
let width = root.clientWidth;
new ResizeObserver(() => {
  if (Math.abs(root.clientWidth - width) < 40) return;
  width = root.clientWidth;
  if (page.now && page.now.tab !== 'form') draw();
}).observe(root);

async function begin() {
  const host = await app.connect();
  capabilities = host.hostCapabilities ?? {};
  await tools();
}

void begin();
