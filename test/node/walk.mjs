// Walks through a real server with either generation of the official TypeScript
// client: node walk.mjs SETTINGS, a JSON list with an object for each walk
//   client        1 or 2, the generation
//   mode          legacy or modern
//   transport     http, sse or stdio
//   url, key      for http and sse; key may be absent
//   command       for stdio: program and arguments
//   capabilities  what the client declares
//   answers       method -> result, for what the server asks
//   prefix        put before names of tools and prompts, as an aggregating endpoint shows them
//   uris          put before URIs, likewise
//   steps         what to do, in order; see `does`
// The walks come one after the other. It prints one JSON list, with an object for each
// walk: what each step gave, what the server asked, and the notifications that came. The Go
// test judges it.
import * as second from '@modelcontextprotocol/client';
import * as secondStdio from '@modelcontextprotocol/client/stdio';
import { Client as First } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

async function walk(set, number) {
  const capabilities = set.capabilities ?? {};
  // Clients of the modern era are told apart by what they call themselves: of those that
  // walk at the same time, each needs a name of its own.
  const info = { name: `walk-${set.client}-${process.pid}-${number}`, version: '1' };
  const seen = { steps: [], asked: [], notes: [] };
  const prefix = set.prefix ?? '';
  const uris = set.uris ?? '';

  function make() {
    if (set.client === 1) return new First(info, { capabilities });
    const mode = set.mode === 'modern' ? { pin: '2026-07-28' } : 'legacy';
    return new second.Client(info, { capabilities, versionNegotiation: { mode } });
  }

  function transport() {
    const requestInit = set.key ? { headers: { Authorization: `Bearer ${set.key}` } } : {};
    const first = set.client === 1;
    switch (set.transport) {
      case 'stdio': {
        const [command, ...args] = set.command;
        const options = { command, args, env: { ...process.env, ...set.env }, stderr: 'ignore' };
        return first ? new StdioClientTransport(options) : new secondStdio.StdioClientTransport(options);
      }
      case 'sse':
        return new SSEClientTransport(new URL(set.url), { requestInit });
      default:
        return first
          ? new StreamableHTTPClientTransport(new URL(set.url), { requestInit })
          : new second.StreamableHTTPClientTransport(new URL(set.url), { requestInit });
    }
  }

  // The libraries check what they read and may leave out what they do not know, so
  // notifications are taken where they arrive.
  let woken = () => {};
  function watch(wire) {
    const deliver = wire.onmessage;
    wire.onmessage = (message, extra) => {
      if (message.method?.startsWith('notifications/')) {
        seen.notes.push({ method: message.method, params: message.params });
        woken();
      }
      deliver(message, extra);
    };
  }

  async function heard(method, after, limit) {
    const end = Date.now() + limit;
    for (;;) {
      const note = seen.notes.slice(after).find(n => n.method === method);
      if (note) return note;
      const left = end - Date.now();
      if (left <= 0) throw new Error(`${method} did not come`);
      await new Promise(resolve => {
        const late = setTimeout(resolve, left);
        woken = () => {
          clearTimeout(late);
          resolve();
        };
      });
    }
  }

  const client = make();
  for (const [method, schema] of [
    ['elicitation/create', ElicitRequestSchema],
    ['sampling/createMessage', CreateMessageRequestSchema],
    ['roots/list', ListRootsRequestSchema],
  ]) {
    if (!(method.split('/')[0] in capabilities)) continue;
    client.setRequestHandler(set.client === 1 ? schema : method, request => {
      seen.asked.push({ method, params: request.params });
      return set.answers[method];
    });
  }

  let level; // of the modern era, where each request says it
  const call = (params, options) => (set.client === 1 ? client.callTool(params, undefined, options) : client.callTool(params, options));
  const tool = step => {
    const params = { name: prefix + step.call, arguments: step.arguments ?? {} };
    return level ? { ...params, _meta: { 'io.modelcontextprotocol/logLevel': level } } : params;
  };

  async function all(list, key) {
    const items = [];
    let cursor;
    do {
      const page = await list(cursor ? { cursor } : undefined);
      items.push(...page[key]);
      cursor = page.nextCursor;
    } while (cursor);
    return items;
  }

  let subscription;
  const does = {
    tools: () => all(p => client.listTools(p), 'tools'),
    resources: () => all(p => client.listResources(p), 'resources'),
    templates: () => all(p => client.listResourceTemplates(p), 'resourceTemplates'),
    prompts: () => all(p => client.listPrompts(p), 'prompts'),
    call: step => call(tool(step)),
    // Calls until the text of the answer holds what is wanted, at most 100 times.
    until: async step => {
      let result;
      for (let i = 0; i < 100; i++) {
        result = await call(tool(step));
        if (JSON.stringify(result).includes(step.holds)) break;
        await new Promise(resolve => setTimeout(resolve, 20));
      }
      return result;
    },
    // Gives the progress too.
    progress: async step => {
      const before = seen.notes.length;
      const result = await call(tool(step), { onprogress: () => {} });
      const progress = seen.notes.slice(before).filter(n => n.method === 'notifications/progress');
      return { result, progress: progress.map(n => [n.params.progress, n.params.total]) };
    },
    // Cancels after the first progress.
    cancel: async step => {
      const stop = new AbortController();
      return call(tool(step), { onprogress: () => stop.abort('enough'), signal: stop.signal });
    },
    read: step => client.readResource({ uri: uris + step.uri }),
    prompt: step => client.getPrompt({ name: prefix + step.name, arguments: step.arguments ?? {} }),
    complete: step => {
      const ref = step.prompt ? { type: 'ref/prompt', name: prefix + step.prompt } : { type: 'ref/resource', uri: uris + step.template };
      return client.complete({ ref, argument: step.argument, ...(step.context ? { context: step.context } : {}) });
    },
    level: async step => {
      if (set.mode !== 'modern') return client.setLoggingLevel(step.level);
      level = step.level;
      return {};
    },
    subscribe: async step => {
      const uri = uris + step.uri;
      if (set.mode !== 'modern') return client.subscribeResource({ uri });
      subscription = await client.listen({ resourceSubscriptions: [uri], toolsListChanged: true, resourcesListChanged: true });
      return {};
    },
    unsubscribe: async step => {
      if (set.mode !== 'modern') return client.unsubscribeResource({ uri: uris + step.uri });
      await subscription.close();
      return {};
    },
    // Calls, and waits for a notification that came since. What a server says beside
    // a call may come when that is over, and be nobody's: so it is called again.
    hear: async step => {
      const before = seen.notes.length;
      for (let i = 1; ; i++) {
        await call(tool(step));
        try {
          return await heard(step.hear, before, 1000);
        } catch (e) {
          if (i === 20) throw e;
        }
      }
    },
  };

  const wire = transport();
  await client.connect(wire);
  watch(wire);
  try {
    for (const step of set.steps) {
      try {
        seen.steps.push({ result: await does[step.do](step) });
      } catch (e) {
        seen.steps.push({ error: { code: e.code, message: String(e.message ?? e) } });
      }
    }
    return seen;
  } finally {
    await client.close();
  }
}

const walks = [];
for (const [number, set] of JSON.parse(process.argv[2]).entries()) walks.push(await walk(set, number));
process.stdout.write(JSON.stringify(walks) + '\n');
