// One walk through everything the demo server offers, for any client library.
// What it saw goes to stdout as one JSON object; the Go test judges it.

// The demo tool `ask` elicits; this is what our person answers.
export const answer = { action: 'accept', content: { name: 'Ada', colour: 'green' } };

// watch collects progress where it arrives, on a connected transport. The
// libraries forget a call's onprogress as soon as its answer is there, but hand
// out notifications a moment later: the last one is lost to them when both come
// in one read.
export function watch(transport) {
  const progress = [];
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (message.method === 'notifications/progress') progress.push(message.params.progress);
    deliver(message, extra);
  };
  return progress;
}

// tour walks. What the libraries do differently comes in: `call(params, options)`,
// `protocol()` and `asked()`.
export async function tour(client, { protocol, asked, progress, call }) {
  const tools = await client.listTools();
  const echo = await call({ name: 'demo__echo', arguments: { text: 'hello, world' } });
  const add = await call({ name: 'demo__add', arguments: { a: 2, b: 40 } });
  // Giving onprogress makes the library ask for progress.
  const slow = await call({ name: 'demo__slow', arguments: { steps: 3, delay_ms: 5 } }, { onprogress: () => {} });
  const ask = await call({ name: 'demo__ask', arguments: {} });
  const fail = await call({ name: 'demo__fail', arguments: {} });
  let unknown = '';
  try {
    await call({ name: 'demo__ecko', arguments: {} });
  } catch (e) {
    unknown = String(e.message);
  }
  const resources = await client.listResources();
  const read = await client.readResource({ uri: 'demo+demo://readme' });
  const templates = await client.listResourceTemplates();
  const prompts = await client.listPrompts();
  const prompt = await client.getPrompt({ name: 'demo__greet', arguments: { name: 'Ada' } });
  const completion = await client.complete({
    ref: { type: 'ref/prompt', name: 'demo__greet' },
    argument: { name: 'name', value: 'A' },
  });
  return {
    protocol: protocol(),
    server: client.getServerVersion()?.name ?? '',
    tools: tools.tools.map(t => t.name),
    echo,
    add,
    slow,
    progress,
    ask,
    asked: asked(),
    fail,
    unknown,
    resources: resources.resources.map(r => r.uri),
    read,
    templates: templates.resourceTemplates.map(t => t.uriTemplate),
    prompts: prompts.prompts.map(p => p.name),
    prompt,
    completion: completion.completion.values,
  };
}

// arguments of the scripts: MODE TRANSPORT, then URL KEY, or COMMAND ARGS...
export function setting() {
  const [mode, transport, ...rest] = process.argv.slice(2);
  if (transport === 'stdio') return { mode, transport, command: rest[0], args: rest.slice(1) };
  const [url, key] = rest;
  return { mode, transport, url: new URL(url), headers: { Authorization: `Bearer ${key}` } };
}

export async function report(client, walk) {
  try {
    process.stdout.write(JSON.stringify(await walk()) + '\n');
  } finally {
    await client.close();
  }
}
