import {
  type AppCapabilities,
  type AppInfo,
  codes,
  type HostCapabilities,
  type HostContext,
  type Id,
  isObject,
  type Message,
  type Params,
  Refusal,
  version,
} from './protocol.ts';

// Host is what a bridge needs of the page around it.
export interface Host {
  info: { name: string; version: string };
  capabilities: () => HostCapabilities;
  context: () => HostContext;
  answer: (method: string, params: Params, signal: AbortSignal) => Promise<unknown>; // a request of the View
  hear: (method: string, params: Params) => void; // a notification of the View
  changed: (phase: Phase) => void;
  said: (line: Line) => void; // for the log
}

// A View says ui/initialize (greeted), then that it is initialized (ready).
export type Phase = 'waiting' | 'greeted' | 'ready' | 'closing' | 'closed';

export interface Line {
  from: 'view' | 'host' | 'junctor'; // junctor: what was refused or noticed
  kind: 'request' | 'note' | 'answer' | 'error' | 'refused';
  method: string;
  body?: unknown;
}

// CallProgress is what happened to the call that a View shows.
export interface CallProgress {
  partial?: Params;
  input?: Params;
  result?: Params;
  cancelled?: { reason?: string };
}

interface Waiting {
  method: string;
  done: (result: unknown) => void;
  fail: (err: Error) => void;
  timer: ReturnType<typeof setTimeout>;
}

const most = 32; // requests of one View at a time

// Bridge speaks with one View. It decides what may be said when: nothing before
// the View is ready, its tool's input once and before the result, nothing after
// a cancellation, nothing at all after the farewell. A page that loads itself
// anew greets again and is told everything again.
export class Bridge {
  phase: Phase = 'waiting';
  app: AppInfo | undefined;
  appCapabilities: AppCapabilities = {};

  private readonly post: (m: Message) => void;
  private readonly host: Host;
  private next = 1;
  private readonly waiting = new Map<Id, Waiting>(); // what the View owes us
  private readonly working = new Map<Id, { method: string; abort: AbortController }>(); // what we owe the View
  private readonly progress: CallProgress;
  private told = { input: false, end: false };

  // The progress outlives the bridge: a View that is opened again is told it again.
  constructor(post: (m: Message) => void, host: Host, progress: CallProgress = {}) {
    this.post = post;
    this.host = host;
    this.progress = progress;
  }

  // What happens to the tool's call. Each is told once the View is ready.

  partial(args: Params) {
    if (this.progress.input || this.over()) return;
    this.progress.partial = args;
    if (this.phase === 'ready') this.note('ui/notifications/tool-input-partial', { arguments: args });
  }

  input(args: Params) {
    if (this.progress.input || this.over()) return;
    this.progress.input = args;
    this.tell();
  }

  result(result: Params) {
    if (this.over()) return;
    this.progress.input ??= {};
    this.progress.result = result;
    this.tell();
  }

  cancelled(reason?: string) {
    if (this.over()) return;
    this.progress.cancelled = reason ? { reason } : {};
    this.tell();
  }

  private over() {
    return this.progress.result !== undefined || this.progress.cancelled !== undefined;
  }

  private tell() {
    if (this.phase !== 'ready' || this.told.end) return;
    if (this.progress.input && !this.told.input) {
      this.told.input = true;
      this.note('ui/notifications/tool-input', { arguments: this.progress.input });
    }
    if (this.progress.cancelled) this.note('ui/notifications/tool-cancelled', this.progress.cancelled);
    else if (this.progress.result) this.note('ui/notifications/tool-result', this.progress.result);
    else return;
    this.told.end = true;
  }

  context(changes: HostContext) {
    if (this.phase === 'ready') this.note('ui/notifications/host-context-changed', changes as Params);
  }

  listChanged(what: 'tools' | 'resources' | 'prompts') {
    if (this.phase === 'ready') this.note(`notifications/${what}/list_changed`, {});
  }

  // ask sends the View a request and waits for its answer.
  ask(method: string, params: Params, limit: number): Promise<unknown> {
    if (this.phase !== 'ready' && this.phase !== 'closing') return Promise.reject(new Error('The App is not running.'));
    const id = this.next++;
    return new Promise((done, fail) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        fail(new Error(`The App has not answered ${method} in ${limit / 1000} s.`));
      }, limit);
      this.waiting.set(id, { method, done, fail, timer });
      this.send({ jsonrpc: '2.0', id, method, params });
    });
  }

  // close says farewell and waits, but not for long.
  async close(limit: number): Promise<void> {
    if (this.phase === 'closed' || this.phase === 'closing') return;
    const there = this.phase === 'ready';
    this.become('closing');
    for (const w of this.working.values()) w.abort.abort();
    if (there) await this.ask('ui/resource-teardown', {}, limit).catch(() => undefined);
    this.become('closed');
    this.forget('The App was closed.');
  }

  private forget(why: string) {
    for (const w of this.waiting.values()) {
      clearTimeout(w.timer);
      w.fail(new Error(why));
    }
    this.waiting.clear();
    for (const w of this.working.values()) w.abort.abort();
    this.working.clear();
  }

  private become(phase: Phase) {
    this.phase = phase;
    this.host.changed(phase);
  }

  // receive takes what came from the View.
  receive(data: unknown) {
    if (this.phase === 'closed') return;
    if (!isObject(data) || data.jsonrpc !== '2.0') return this.refuse('', 'The message is not JSON-RPC.');
    const m = data as unknown as Message;
    const id = typeof m.id === 'string' || typeof m.id === 'number' ? m.id : undefined;
    if (typeof m.method === 'string') {
      if (m.method.length > 200) return this.refuse(m.method.slice(0, 200), 'The name of the method is too long.');
      const params = isObject(m.params) ? m.params : {};
      if (id === undefined) this.heard(m.method, params);
      else void this.asked(id, m.method, params);
    } else if (id !== undefined) this.answered(id, m);
    else this.refuse('', 'The message is neither a request nor a response.');
  }

  private refuse(method: string, why: string) {
    this.host.said({ from: 'junctor', kind: 'refused', method, body: why });
  }

  private answered(id: Id, m: Message) {
    const w = this.waiting.get(id);
    if (!w) return this.refuse('', `The response matches no request (${String(id).slice(0, 40)}).`);
    this.waiting.delete(id);
    clearTimeout(w.timer);
    if (w.method !== 'ping')
      this.host.said({ from: 'view', kind: m.error ? 'error' : 'answer', method: w.method, body: m.error ?? m.result });
    if (m.error) w.fail(new Error(typeof m.error.message === 'string' ? m.error.message : 'The App answered with an error.'));
    else w.done(m.result);
  }

  private heard(method: string, params: Params) {
    if (this.phase === 'closing') return;
    this.host.said({ from: 'view', kind: 'note', method, body: params });
    if (method === 'ui/notifications/initialized') {
      if (this.phase !== 'greeted') return this.refuse(method, 'ui/initialize comes first, once.');
      this.become('ready');
      if (this.progress.partial && !this.progress.input)
        this.note('ui/notifications/tool-input-partial', { arguments: this.progress.partial });
      this.tell();
    } else if (method === 'notifications/cancelled') {
      const id = params.requestId as Id;
      this.working.get(id)?.abort.abort();
      this.working.delete(id);
    } else if (this.phase === 'waiting') this.refuse(method, 'ui/initialize comes first.');
    else this.host.hear(method, params);
  }

  private async asked(id: Id, method: string, params: Params) {
    if (this.phase === 'closing') return;
    if (method === 'ping') return this.post({ jsonrpc: '2.0', id, result: {} });
    this.host.said({ from: 'view', kind: 'request', method, body: params });
    const abort = new AbortController();
    try {
      if (this.working.has(id)) throw new Refusal(codes.invalidRequest, 'A request with this ID is still running.');
      if (method === 'ui/initialize') return this.reply(id, method, this.greet(params));
      if (this.phase === 'waiting') throw new Refusal(codes.invalidRequest, 'ui/initialize comes first.');
      if (this.working.size >= most) throw new Refusal(codes.refused, `More than ${most} requests at a time; wait for responses.`);
      this.working.set(id, { method, abort });
      const result = await this.host.answer(method, params, abort.signal);
      if (!abort.signal.aborted) this.reply(id, method, result ?? {});
    } catch (err) {
      if (abort.signal.aborted) return; // nobody waits for it
      const error =
        err instanceof Refusal
          ? { code: err.code, message: err.message, ...(err.data === undefined ? {} : { data: err.data }) }
          : { code: codes.refused, message: err instanceof Error ? err.message : 'The request failed.' };
      this.send({ jsonrpc: '2.0', id, error }, method);
    } finally {
      if (this.working.get(id)?.abort === abort) this.working.delete(id);
    }
  }

  private greet(params: Params): Params {
    const { appInfo, appCapabilities, protocolVersion } = params;
    if (!isObject(appInfo) || typeof appInfo.name !== 'string' || !isObject(appCapabilities) || typeof protocolVersion !== 'string')
      throw new Refusal(codes.invalidParams, 'ui/initialize requires appInfo, appCapabilities and protocolVersion.');
    this.forget('The App was reloaded.');
    this.app = {
      name: appInfo.name,
      version: String(appInfo.version ?? ''),
      title: typeof appInfo.title === 'string' ? appInfo.title : undefined,
    };
    this.appCapabilities = appCapabilities as AppCapabilities;
    this.told = { input: false, end: false };
    this.become('greeted');
    return {
      protocolVersion: version,
      hostInfo: this.host.info,
      hostCapabilities: this.host.capabilities(),
      hostContext: this.host.context(),
    };
  }

  private note(method: string, params: Params) {
    this.send({ jsonrpc: '2.0', method, params });
  }

  private reply(id: Id, method: string, result: unknown) {
    this.send({ jsonrpc: '2.0', id, result }, method);
  }

  private send(m: Message, of = m.method ?? '') {
    if (this.phase === 'closed') return;
    if (of !== 'ping') {
      const kind = m.method ? (m.id === undefined ? 'note' : 'request') : m.error ? 'error' : 'answer';
      this.host.said({ from: 'host', kind, method: of, body: m.method ? m.params : (m.error ?? m.result) });
    }
    this.post(m);
  }
}
