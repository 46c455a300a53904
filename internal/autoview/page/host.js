// The wire to the host: JSON-RPC by messages to the window that holds this page,
// as the MCP Apps specification of 2026-01-26 says. Nobody else is listened to.

const version = '2026-01-26';

// connect gives {context, capabilities, call, list, open, mode, tell, size}. on has
// input, partial, result, cancelled, context and teardown.
export async function connect(on, holder = window.parent) {
  const waiting = new Map();
  let last = 0;
  const post = (message) => holder.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      post({ id: last, method, params });
    });
  const notes = {
    'ui/notifications/tool-input': (p) => on.input(p?.arguments ?? {}),
    'ui/notifications/tool-input-partial': (p) => on.partial(p?.arguments ?? {}),
    'ui/notifications/tool-result': (p) => on.result(p ?? {}),
    'ui/notifications/tool-cancelled': (p) => on.cancelled(p?.reason),
    'ui/notifications/host-context-changed': (p) => on.context(p ?? {}),
    'notifications/tools/list_changed': () => on.tools(),
  };
  window.addEventListener('message', (event) => {
    const m = event.data;
    if (event.source !== holder || typeof m !== 'object' || m === null || m.jsonrpc !== '2.0') return;
    if (typeof m.method === 'string' && m.id !== undefined) {
      if (m.method === 'ui/resource-teardown' || m.method === 'ping') post({ id: m.id, result: {} });
      else post({ id: m.id, error: { code: -32601, message: 'this View does not answer that' } });
      return;
    }
    if (typeof m.method === 'string') {
      if (Object.hasOwn(notes, m.method)) notes[m.method](m.params);
      return;
    }
    const one = waiting.get(m.id);
    if (!one) return;
    waiting.delete(m.id);
    if (m.error) one.reject(new Error(typeof m.error.message === 'string' ? m.error.message : 'the host refused'));
    else one.resolve(m.result ?? {});
  });
  const begun = await ask('ui/initialize', {
    protocolVersion: version,
    appInfo: { name: 'junctor-view', version: '1.0.0' },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
  });
  return {
    context: begun.hostContext ?? {},
    capabilities: begun.hostCapabilities ?? {},
    ready: () => post({ method: 'ui/notifications/initialized', params: {} }),
    call: (name, args) => ask('tools/call', { name, arguments: args }),
    list: (cursor) => ask('tools/list', cursor === undefined ? {} : { cursor }),
    open: (url) => ask('ui/open-link', { url }),
    mode: (mode) => ask('ui/request-display-mode', { mode }),
    tell: (text) => ask('ui/update-model-context', { content: [{ type: 'text', text }] }),
    size: (width, height) => post({ method: 'ui/notifications/size-changed', params: { width, height } }),
  };
}
