import { Failure } from '../api/client';
import { closeView, lookAt, type Opening, openView, readLog, type View, writeLog } from './api';
import { Bridge, type CallProgress, type Phase } from './bridge';
import { asItIs, type ContextOverrides, changes, devices, surroundings, variables, watch } from './context';
import { answerMail, type Mail, onMail } from './mail';
import { type Entry, MessageLog } from './messageLog';
import { describeStop, inside, paramsOf, refusalReasons } from './messages';
import { codes, type HostCapabilities, type HostContext, isObject, type Mode, type Params } from './protocol';
import { Requests } from './requests';
import { type AppTool, every, features, limits, mostHeight, type Settings, type Snapshot, usualHeight } from './state';

// RunningApp is one View on the screen: the frame, the bridge, and what the person
// is asked and describeStop. The frame stands in a box that it is given, and is never
// moved while it lives.
export class RunningApp {
  private readonly opening: Opening;
  private readonly progress: CallProgress;
  private settings: Settings;
  private readonly journal = new MessageLog();
  private snapshot: Snapshot;
  private readonly listeners = new Set<() => void>();

  private box?: HTMLElement;
  private frame?: HTMLIFrameElement;
  private bridge?: Bridge;
  private abort = new AbortController();
  private timers: ReturnType<typeof setTimeout>[] = [];
  private began = 0;
  private last: HostContext = {};
  private unsent: { kind: string; method?: string; detail?: unknown }[] = [];
  private seq = 0;
  private readonly requests = new Requests({
    look: () => this.snapshot,
    set: (change) => this.set(change),
    capabilities: () => this.capabilities(),
    show: (mode) => this.show(mode),
    check: (id, trouble) => this.check(id, trouble),
    refused: (method, why) => this.said('junctor', 'refused', method, why),
    leave: () => this.leave(),
  });

  constructor(opening: Opening, progress: CallProgress, settings: Settings) {
    this.opening = opening;
    this.progress = progress;
    this.settings = settings;
    this.snapshot = this.blank();
  }

  private blank(): Snapshot {
    return {
      state: 'opening',
      slow: false,
      mode: 'inline',
      modes: ['inline'],
      height: usualHeight,
      granted: this.settings.allow ?? [],
      messages: [],
      tools: [],
      trouble: '',
      page: 'open',
    };
  }

  subscribe = (l: () => void) => {
    this.listeners.add(l);
    return () => {
      this.listeners.delete(l);
    };
  };
  look = () => this.snapshot;
  log = () => this.journal.entries;
  dropped = () => this.journal.dropped;

  private set(change: Partial<Snapshot>) {
    this.snapshot = { ...this.snapshot, ...change };
    for (const l of this.listeners) l();
  }

  private later(ms: number, f: () => void) {
    this.timers.push(setTimeout(f, ms));
  }

  // mount opens the View in a box that stays where it is, and gives what ends it.
  mount(box: HTMLElement): () => void {
    this.box = box;
    const resized = new ResizeObserver(() => this.refresh());
    resized.observe(box);
    const scheme = new MutationObserver(() => this.redraw());
    scheme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-mantine-color-scheme'] });
    const unwatch = watch(() => this.refresh());
    void this.open();
    return () => {
      resized.disconnect();
      scheme.disconnect();
      unwatch();
      this.end();
      this.box = undefined;
    };
  }

  // again begins from the start, in a new View.
  again(isolation?: 'opaque', settings: Partial<Settings> = {}) {
    this.end();
    this.settings = { ...this.settings, ...settings };
    this.abort = new AbortController();
    void this.open({ fresh: true, ...(isolation ? { isolation } : {}) });
  }

  private async open(more: Partial<Opening> = {}) {
    const { signal } = this.abort;
    this.began = performance.now();
    this.set(this.blank());
    const { within } = this.settings;
    if (within) this.later(within, () => this.giveUp(within));
    try {
      const view = await openView({ ...this.opening, ...more }, signal);
      if (signal.aborted || !this.box) return void closeView(view.id);
      if (this.settings.approvedOnly && view.approval.state !== 'approved') {
        void closeView(view.id);
        const error = new Failure({ code: 'denied', detail: 'The page of the App is not approved.' }, `the App of ${this.opening.tool}`);
        return this.set({ state: 'failed', unapproved: true, error });
      }
      this.set({ view, state: 'loading', modes: ['inline'] });
      this.seq = 0;
      const stop = onMail(view.id, (m) => void this.mail(view, m));
      signal.addEventListener('abort', stop);
      this.load(view, this.box);
    } catch (error) {
      if (!signal.aborted) this.set({ state: 'failed', error });
    }
  }

  private load(view: View, box: HTMLElement) {
    const frame = document.createElement('iframe');
    frame.title = `The App of ${view.name}`;
    frame.setAttribute('sandbox', view.sandbox);
    const allow = this.granted(view).map((p) => `${features[p]} ${view.proxy_origin} ${view.origin === 'null' ? '*' : view.origin}`);
    if (allow.length > 0) frame.allow = allow.join('; ');
    this.frame = frame;
    const target = view.proxy_origin;
    const bridge = new Bridge(
      (m) => frame.contentWindow?.postMessage(m, target),
      {
        info: { name: 'Junctor', version: this.settings.version },
        capabilities: () => this.capabilities(),
        context: () => {
          this.last = this.context();
          return this.last;
        },
        answer: (method, params, signal) => this.requests.answer(method, params, signal),
        hear: (method, params) => this.hear(method, params),
        changed: (phase) => this.phase(phase),
        said: (line) => this.said(line.from, line.kind, line.method, line.body),
      },
      this.progress,
    );
    this.bridge = bridge;
    // It listens before the frame has an address, so that nothing is missed.
    const listen = (e: MessageEvent) => this.arrived(e, frame, view, bridge);
    window.addEventListener('message', listen);
    this.abort.signal.addEventListener('abort', () =>
      setTimeout(() => window.removeEventListener('message', listen), limits.farewell + 500),
    );
    this.later(limits.proxy, () => {
      if (this.snapshot.state === 'loading')
        this.fail(
          'The sandbox did not start',
          'Its page did not load within 10 s. The browser must resolve names below localhost to isolate Apps.',
        );
    });
    this.later(limits.slow, () => this.set({ slow: true }));
    frame.src = view.proxy;
    box.append(frame);
  }

  // giveUp ends a View that has not begun in time.
  private giveUp(within: number) {
    if (!['opening', 'loading', 'starting'].includes(this.snapshot.state)) return;
    this.end();
    this.fail('The App did not start', `It did not send ui/initialize within ${within / 1000} s.`);
  }

  private fail(title: string, hint: string) {
    this.said('junctor', 'refused', '', title);
    this.set({ state: 'failed', error: new Failure({ code: 'timeout', detail: `${title}.`, hint }, `the App of ${this.opening.tool}`) });
  }

  private arrived(e: MessageEvent, frame: HTMLIFrameElement, view: View, bridge: Bridge) {
    if (e.source !== frame.contentWindow) {
      // A frame inside that speaks past its proxy: it is heard by nobody.
      if (inside(e.source, frame.contentWindow)) this.said('junctor', 'refused', '', 'A message bypassed the proxy and was ignored.');
      return;
    }
    if (e.origin !== view.proxy_origin) return this.said('junctor', 'refused', '', `A message came from ${e.origin}.`);
    const method = isObject(e.data) && typeof e.data.method === 'string' ? e.data.method : '';
    if (!method.startsWith('ui/notifications/sandbox-')) return bridge.receive(e.data);
    if (method === 'ui/notifications/sandbox-proxy-ready') {
      if (this.snapshot.state !== 'loading') return;
      const permissions = Object.fromEntries(this.granted(view).map((p) => [p, {}]));
      frame.contentWindow?.postMessage(
        { jsonrpc: '2.0', method: 'ui/notifications/sandbox-resource-ready', params: { html: '', permissions } },
        view.proxy_origin,
      );
      this.set({ state: 'starting' });
      this.later(limits.start, () => {
        if (this.snapshot.state === 'starting')
          this.fail(
            'The App did not start',
            'It did not send ui/initialize within 30 s. See its messages for the cause. A page that uses eval starts only after it is approved under Apps. The response of the tool is available without the App.',
          );
      });
    } else if (method === 'ui/notifications/sandbox-refused') {
      const { why, method: of } = paramsOf(e.data);
      this.said('junctor', 'refused', typeof of === 'string' ? of : '', refusalReasons[String(why)] ?? String(why));
    } else if (method === 'ui/notifications/sandbox-view-loaded' && Number(paramsOf(e.data).count) > 1) {
      this.said('junctor', 'refused', '', 'The frame was loaded again: the App opened another page, or was kept from it.');
      this.gone();
    }
  }

  // gone is called when the frame loaded a second time: where the page is still
  // ours it greets again.
  private gone() {
    const greeted = this.snapshot.app;
    this.set({ app: undefined });
    this.later(limits.left, () => {
      if (this.snapshot.app === undefined && (greeted || this.snapshot.state === 'starting')) this.set({ state: 'left', app: greeted });
    });
  }

  private phase(phase: Phase) {
    const b = this.bridge;
    if (!b) return;
    if (phase === 'greeted') {
      const both = (b.appCapabilities.availableDisplayModes ?? ['inline']).filter((m) => this.modes().includes(m));
      this.set({ state: 'starting', app: b.app, tools: [], modes: both.includes('inline') ? both : ['inline', ...both] });
    } else if (phase === 'ready') {
      this.set({ state: 'ready', took: performance.now() - this.began });
      if (b.appCapabilities.tools) void this.listTools();
      this.watch(b, false);
    }
  }

  // watch asks now and then whether the View still answers. One that never did
  // may not know the question.
  private watch(b: Bridge, answered: boolean) {
    this.later(limits.ping, async () => {
      if (this.bridge !== b || b.phase !== 'ready') return;
      const ok = document.hidden
        ? answered
        : await b.ask('ping', {}, limits.pong).then(
            () => true,
            (err: Error) => !/not answered/.test(err.message),
          );
      if (this.bridge !== b || b.phase !== 'ready') return;
      const { state } = this.snapshot;
      if (ok && state === 'silent') this.set({ state: 'ready' });
      if (!ok && answered && state === 'ready') this.set({ state: 'silent' });
      this.watch(b, answered || ok);
    });
  }

  private end() {
    this.abort.abort();
    for (const t of this.timers) clearTimeout(t);
    this.timers = [];
    this.decide(false);
    const { frame, bridge } = this;
    const id = this.snapshot.view?.id;
    this.flush();
    this.frame = undefined;
    this.bridge = undefined;
    if (!frame) return;
    // The farewell takes a moment. The frame waits for it out of sight where it
    // can be moved without being loaded anew.
    const limbo = document.body as HTMLElement & { moveBefore?: (n: Node, before: Node | null) => void };
    const farewell = bridge?.close(limits.farewell) ?? Promise.resolve();
    if (limbo.moveBefore && frame.isConnected) {
      limbo.moveBefore(frame, null);
      frame.className = 'limbo';
      frame.inert = true;
      frame.ariaHidden = 'true';
    }
    void farewell.then(() => {
      frame.remove();
      if (id) void closeView(id);
    });
  }

  // leave is the person's wish, or the View's.
  leave() {
    this.end();
    this.set({ state: 'closed', mode: 'inline' });
  }

  // What happens to the call.
  partial = (args: Params) => this.tell((b) => b.partial(args));
  input = (args: Params) => this.tell((b) => b.input(args));
  result = (r: Params) => this.tell((b) => b.result(r));
  cancelled = (reason: string) => this.tell((b) => b.cancelled(reason));

  private tell(say: (b: Bridge) => void) {
    // Before there is a bridge the progress alone is describeStop; it is heard later.
    say(this.bridge ?? new Bridge(() => {}, noHost, this.progress));
  }

  private said(from: Entry['from'], kind: Entry['kind'], method: string, body?: unknown, at?: Date) {
    this.journal.add({ from, kind, method, body }, at);
    if (kind === 'refused' && !at) this.unsent.push({ kind: 'blocked', ...(method ? { method } : {}), detail: body });
    if (this.speaking) return;
    this.speaking = setTimeout(() => {
      this.speaking = undefined;
      this.flush();
      this.set({});
    }, 150);
  }
  private speaking?: ReturnType<typeof setTimeout>;

  private flush() {
    const id = this.snapshot.view?.id;
    if (!id || this.unsent.length === 0) return;
    void writeLog(id, this.unsent.slice(0, 200));
    this.unsent = [];
  }

  // follow reads what Go and the sandbox wrote, while somebody looks at the log.
  async follow() {
    const id = this.snapshot.view?.id;
    if (!id) return;
    const page = await readLog(id, this.seq).catch(() => undefined);
    if (!page || this.snapshot.view?.id !== id) return;
    for (const item of page.items) {
      this.seq = Math.max(this.seq, item.seq);
      const text = item.source === 'console' ? '' : describeStop(item);
      if (text) this.said('junctor', 'refused', item.method ?? '', text, new Date(item.at));
    }
  }

  // The context.

  private modes(): Mode[] {
    return this.settings.small ? ['inline'] : ['inline', 'fullscreen', 'pip'];
  }
  private get switches(): ContextOverrides {
    return this.settings.switches ?? asItIs;
  }
  theme(): 'light' | 'dark' {
    return this.switches.theme || (document.documentElement.dataset.mantineColorScheme === 'dark' ? 'dark' : 'light');
  }

  private context(): HostContext {
    const theme = this.theme();
    const mode = this.snapshot.mode;
    const style = this.box ? getComputedStyle(this.box) : undefined;
    const device = this.switches.device ? devices[this.switches.device] : undefined;
    const width = Math.round(
      device && mode === 'inline' ? Math.min(device.width, this.box?.clientWidth || device.width) : (this.box?.clientWidth ?? 0),
    );
    return {
      ...surroundings(this.switches, this.settings.version),
      theme,
      styles: { variables: variables((name) => style?.getPropertyValue(name).trim() ?? '', theme) },
      displayMode: mode,
      availableDisplayModes: this.modes(),
      containerDimensions: mode === 'inline' ? { width, maxHeight: mostHeight } : { width, height: this.box?.clientHeight ?? 0 },
      toolInfo: { tool: this.snapshot.view?.tool_definition },
    };
  }

  // refresh tells the View what of its surroundings has changed.
  refresh() {
    if (this.bridge?.phase !== 'ready') return;
    const now = this.context();
    const news = changes(this.last, now);
    this.last = now;
    if (Object.keys(news).length > 0) this.bridge.context(news);
  }

  // redraw has the box drawn first, whose colours and size the View is describeStop.
  private redraw() {
    this.set({});
    requestAnimationFrame(() => this.refresh());
  }

  turn(switches: ContextOverrides) {
    this.settings = { ...this.settings, switches };
    this.redraw();
  }

  show(mode: Mode): Mode {
    if (this.snapshot.modes.includes(mode) && mode !== this.snapshot.mode) {
      this.set({ mode });
      requestAnimationFrame(() => this.refresh());
    }
    return this.snapshot.mode;
  }

  // What the View may do.

  private granted(view: View): string[] {
    return (view.permissions ?? []).filter((p) => this.settings.allow?.includes(p) && features[p]);
  }

  // capabilities are what works: what Go backs, what this page does, less what
  // is switched off.
  private capabilities(): HostCapabilities {
    const view = this.snapshot.view;
    const backed = (view?.host_capabilities ?? {}) as HostCapabilities;
    const all: HostCapabilities = {
      openLinks: {},
      downloadFile: {},
      message: every,
      updateModelContext: { ...every, structuredContent: {} },
      ...backed,
      sandbox: {
        csp: view?.csp ?? {},
        permissions: Object.fromEntries((view ? this.granted(view) : []).map((p) => [p, {}])),
      },
    };
    for (const name of this.settings.off ?? []) delete all[name];
    if (this.settings.small) for (const name of ['openLinks', 'downloadFile', 'message', 'updateModelContext'] as const) delete all[name];
    return all;
  }

  // check looks whether the page is still what its server gives.
  async check(id: string, trouble = '') {
    const now = await lookAt(id).catch(() => undefined);
    if (this.snapshot.view?.id !== id) return;
    this.set({ trouble, page: (now?.state as Snapshot['page'] | undefined) ?? this.snapshot.page });
  }

  decide(yes: boolean) {
    this.requests.decide(yes);
  }

  // mail is what Go has for the View: news of its server's lists, and what agents
  // want of its own tools.
  private async mail(view: View, m: Mail) {
    const b = this.bridge;
    if (!b || this.snapshot.view !== view) return;
    const list = /^notifications\/(tools|resources|prompts)\/list_changed$/.exec(m.method)?.[1];
    if (list) b.listChanged(list as 'tools' | 'resources' | 'prompts');
    if (!m.ask) return;
    const answer = await b.ask(m.method, (m.params ?? {}) as Params, limits.tool).then(
      (result) => (isObject(result) ? { result } : { error: { code: codes.refused, message: 'The App sent an invalid response.' } }),
      (err: Error) => ({ error: { code: codes.refused, message: err.message } }),
    );
    void answerMail(view.id, m.ask, answer);
  }

  private hear(method: string, params: Params) {
    if (method === 'ui/notifications/size-changed') {
      const { height } = params;
      if (typeof height === 'number' && Number.isFinite(height) && height > 0)
        this.set({ height: Math.min(mostHeight, Math.max(40, Math.ceil(height))) });
    } else if (method === 'ui/notifications/request-teardown') this.leave();
    else if (method === 'notifications/tools/list_changed') void this.listTools();
  }

  // The tools that the View itself has.

  private async listTools() {
    const b = this.bridge;
    const list = (await b?.ask('tools/list', {}, limits.tool).catch(() => undefined)) as { tools?: unknown[] } | undefined;
    if (b !== this.bridge || !Array.isArray(list?.tools)) return;
    const tools = list.tools.filter((t): t is Params => isObject(t) && typeof t.name === 'string').slice(0, 50);
    this.set({ tools: tools as unknown as AppTool[] });
  }

  call(name: string, args: Params): Promise<unknown> {
    return this.bridge?.ask('tools/call', { name, arguments: args }, limits.tool) ?? Promise.reject(new Error('The App is not running.'));
  }
}

const noHost = {
  info: { name: '', version: '' },
  capabilities: () => ({}),
  context: () => ({}),
  answer: () => Promise.resolve({}),
  hear: () => {},
  changed: () => {},
  said: () => {},
};
