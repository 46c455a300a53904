import { Failure } from '../api/client';
import { save } from '../parts/save';
import { rpc } from './api';
import { fileOf, linkOf, mostBytes, mostFiles, type Offered } from './files';
import { contentOf } from './messages';
import { codes, type HostCapabilities, isObject, type Mode, type Params, Refusal } from './protocol';
import type { Optional, Question, Snapshot } from './state';

// ShownView is the View whose requests are answered, as it stands on the screen.
export interface ShownView {
  look: () => Snapshot;
  set: (change: Partial<Snapshot>) => void;
  capabilities: () => HostCapabilities;
  show: (mode: Mode) => Mode;
  check: (id: string, trouble: string) => Promise<void>;
  refused: (method: string, why: string) => void;
  leave: () => void;
}

// Requests answers what a View asks for: by asking the person, by Go, or not at
// all.
export class Requests {
  private readonly on: ShownView;
  private reply?: (yes: boolean) => void;

  constructor(on: ShownView) {
    this.on = on;
  }

  private need(name: Optional, method: string) {
    if (!this.on.capabilities()[name]) throw new Refusal(codes.noMethod, `This host has no ${method}.`);
  }

  async answer(method: string, params: Params, signal: AbortSignal): Promise<unknown> {
    switch (method) {
      case 'ui/open-link': {
        this.need('openLinks', method);
        const url = linkOf(params.url);
        if (!url) return this.declined(method, 'Only http and https links can be opened.');
        if (!(await this.confirm({ kind: 'link', url }, signal))) return this.declined(method, 'The user declined to open the link.');
        window.open(url.href, '_blank', 'noopener,noreferrer');
        return {};
      }
      case 'ui/download-file': {
        this.need('downloadFile', method);
        const files = await this.files(params, signal);
        if (typeof files === 'string') return this.declined(method, files);
        if (!(await this.confirm({ kind: 'files', files }, signal))) return this.declined(method, 'The user declined to save the files.');
        for (const f of files) save(f.name, f.body, 'application/octet-stream');
        return {};
      }
      case 'ui/message': {
        this.need('message', method);
        const content = contentOf(params.content);
        if (!content || content.length === 0) return this.declined(method, 'The message has no content that can be shown.');
        await this.forward(method, { role: 'user', content }, signal);
        this.on.set({ messages: [...this.on.look().messages, { at: new Date(), content }].slice(-50) });
        return {};
      }
      case 'ui/update-model-context': {
        this.need('updateModelContext', method);
        const content = params.content === undefined ? [] : contentOf(params.content);
        if (!content) throw new Refusal(codes.invalidParams, 'The content has blocks of unknown types.');
        await this.forward(method, { ...params, ...(params.content === undefined ? {} : { content }) }, signal);
        this.on.set({ model: { at: new Date(), content, structured: params.structuredContent } });
        return {};
      }
      case 'ui/request-display-mode':
        return { mode: this.on.show(params.mode as Mode) };
      case 'tools/call':
      case 'tools/list':
        this.need('serverTools', method);
        return this.forward(method, params, signal);
      case 'resources/read':
      case 'resources/list':
      case 'resources/templates/list':
        this.need('serverResources', method);
        return this.forward(method, params, signal);
      case 'prompts/list':
      case 'prompts/get':
      case 'completion/complete':
        return this.forward(method, params, signal);
      default:
        throw new Refusal(codes.noMethod, `This host has no ${method}.`);
    }
  }

  private declined(method: string, why: string) {
    this.on.refused(method, why);
    return { isError: true };
  }

  // forward has Go judge a request and do it.
  private async forward(method: string, params: Params, signal: AbortSignal): Promise<unknown> {
    const view = this.on.look().view;
    if (!view) throw new Refusal(codes.refused, 'The App is closed.');
    try {
      const { result, error } = await rpc(view.id, method, params, signal);
      if (error) {
        if (!/^unknown|not found/i.test(error.message)) void this.on.check(view.id, error.message);
        throw new Refusal(error.code, error.message, error.data);
      }
      if (this.on.look().trouble) this.on.set({ trouble: '' });
      return result;
    } catch (err) {
      if (err instanceof Failure && (err.problem.code === 'not_found' || err.problem.code === 'unauthenticated')) {
        this.on.leave();
        throw new Refusal(codes.refused, 'The App was closed.');
      }
      throw err;
    }
  }

  private async files(params: Params, signal: AbortSignal): Promise<Offered[] | string> {
    const contents = Array.isArray(params.contents) ? params.contents : [];
    if (contents.length === 0 || contents.length > mostFiles) return `An App can save 1 to ${mostFiles} files at a time.`;
    const out: Offered[] = [];
    for (const c of contents as unknown[]) {
      let resource: unknown = isObject(c) ? c.resource : undefined;
      if (isObject(c) && c.type === 'resource_link') {
        const read = (await this.forward('resources/read', { uri: c.uri }, signal)) as { contents?: unknown[] };
        resource = read.contents?.[0];
      }
      const file = fileOf(resource);
      if (!file) return 'A file of the App cannot be read.';
      out.push(file);
    }
    if (out.reduce((sum, f) => sum + f.size, 0) > mostBytes) return `The files are larger than ${mostBytes / 1024 / 1024} MiB.`;
    return out;
  }

  // confirm asks the person. One question stands at a time: who asks while it
  // does is refused.
  private confirm(question: Question, signal: AbortSignal): Promise<boolean> {
    if (this.reply) return Promise.resolve(false);
    return new Promise((done) => {
      this.reply = (yes) => {
        this.reply = undefined;
        this.on.set({ question: undefined });
        done(yes);
      };
      signal.addEventListener('abort', () => this.decide(false), { once: true });
      this.on.set({ question });
    });
  }
  decide(yes: boolean) {
    this.reply?.(yes);
  }
}
