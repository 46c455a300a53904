// mcpApp: how a page talks to the host that shows it (MCP Apps, 2026-01-26).
//
//   const app = mcpApp({ name: "clock", version: "1" }, {
//     input(args)     {},  // the arguments of the call the page is for
//     partial(args)   {},  // the same while they still come
//     result(result)  {},  // its result; your data is result.structuredContent
//     cancelled(why)  {},  // it will have no result
//     context(ctx)    {},  // the host's context, at first and whenever it changes
//     teardown()      {},  // the page is about to close; may return a promise
//     changed(kind)   {},  // the server's tools, resources or prompts changed
//     tools: { move: { description, inputSchema, run(args) {} } },  // for the agent
//     modes: ["inline", "fullscreen"],                              // default: inline
//   });
//   const host = await app.connect();                  // {hostInfo, hostCapabilities, hostContext}
//   const data = (await app.call("refresh", { page: 2 })).structuredContent;
//   await app.message("hello"); await app.context("the person picked 7"); app.log("info", "ready");
//   await app.open(url); await app.mode("fullscreen"); await app.download([resource]);
//
// The host's colours, fonts and theme are put on the document, and the page's
// height is told to the host by itself. Every request is a promise; one that
// the host refuses is rejected.
"use strict";

function mcpApp(info, on = {}) {
  const VERSION = "2026-01-26";
  const waiting = new Map();
  const own = on.tools || {};
  let last = 0;
  let hostContext = {};

  const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => post({ method, params });
  const request = (method, params = {}) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      post({ id: last, method, params });
    });

  // Style: the host's variables on :root, its fonts, its theme.
  function wear({ theme, styles = {} }) {
    const root = document.documentElement;
    if (theme) {
      root.dataset.theme = theme;
      root.style.colorScheme = theme;
    }
    for (const [name, value] of Object.entries(styles.variables || {})) {
      if (name.startsWith("--") && value != null) root.style.setProperty(name, value);
    }
    if (styles.css && styles.css.fonts) {
      let sheet = document.getElementById("mcp-fonts");
      if (!sheet) {
        sheet = document.head.appendChild(document.createElement("style"));
        sheet.id = "mcp-fonts";
      }
      sheet.textContent = styles.css.fonts;
    }
  }

  function learn(news) {
    hostContext = { ...hostContext, ...news };
    wear(news);
    if (on.context) on.context(hostContext);
  }

  // What the host asks. Each answers with a result, or throws.
  const answers = {
    ping: () => ({}),
    "ui/resource-teardown": async () => {
      if (on.teardown) await on.teardown();
      return {};
    },
    "tools/list": () => ({
      tools: Object.entries(own).map(([name, { run, ...tool }]) => ({ name, inputSchema: { type: "object" }, ...tool })),
    }),
    "tools/call": async ({ name, arguments: args = {} }) => {
      if (!Object.hasOwn(own, name)) throw new Error(`the page has no tool ${name}`);
      try {
        const out = await own[name].run(args);
        if (out && Array.isArray(out.content)) return out;
        const text = typeof out === "string" ? out : JSON.stringify(out ?? {});
        const data = out && typeof out === "object" && !Array.isArray(out) ? { structuredContent: out } : {};
        return { content: [{ type: "text", text }], ...data };
      } catch (e) {
        return { content: [{ type: "text", text: String(e.message || e) }], isError: true };
      }
    },
  };

  // What the host tells.
  const news = {
    "ui/notifications/tool-input": (p) => on.input && on.input(p.arguments || {}),
    "ui/notifications/tool-input-partial": (p) => on.partial && on.partial(p.arguments || {}),
    "ui/notifications/tool-result": (p) => on.result && on.result(p),
    "ui/notifications/tool-cancelled": (p) => on.cancelled && on.cancelled(p.reason),
    "ui/notifications/host-context-changed": learn,
    "notifications/tools/list_changed": () => on.changed && on.changed("tools"),
    "notifications/resources/list_changed": () => on.changed && on.changed("resources"),
    "notifications/prompts/list_changed": () => on.changed && on.changed("prompts"),
  };

  async function hear(event) {
    // Only the frame around this page is the host; any other may lie.
    if (event.source !== parent || !event.data || event.data.jsonrpc !== "2.0") return;
    const { id, method, params = {}, result, error } = event.data;
    if (method === undefined) {
      const call = waiting.get(id);
      waiting.delete(id);
      if (call && error) call.reject(Object.assign(new Error(error.message), { code: error.code }));
      else if (call) call.resolve(result);
    } else if (id === undefined) {
      if (Object.hasOwn(news, method)) news[method](params);
    } else if (Object.hasOwn(answers, method)) {
      try {
        post({ id, result: await answers[method](params) });
      } catch (e) {
        post({ id, error: { code: -32602, message: String(e.message || e) } });
      }
    } else {
      post({ id, error: { code: -32601, message: `${method} is not known here` } });
    }
  }

  // The size of the content, told when it changes. The width is the host's.
  function measure() {
    let told = 0;
    new ResizeObserver(() => {
      const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
      if (height !== told) notify("ui/notifications/size-changed", { height: (told = height) });
    }).observe(document.documentElement);
  }

  const blocks = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : [].concat(content));
  const agreed = async (method, params) => {
    const result = await request(method, params);
    if (result && result.isError) throw new Error(`the host refused ${method}`);
    return result;
  };

  return {
    async connect() {
      addEventListener("message", hear);
      const host = await request("ui/initialize", {
        appInfo: info,
        appCapabilities: { availableDisplayModes: on.modes || ["inline"], ...(on.tools && { tools: { listChanged: true } }) },
        protocolVersion: VERSION,
      });
      learn(host.hostContext || {});
      notify("ui/notifications/initialized");
      measure();
      return host;
    },
    get hostContext() {
      return hostContext;
    },
    request,
    notify,
    call: (name, args = {}) => request("tools/call", { name, arguments: args }),
    read: (uri) => request("resources/read", { uri }),
    open: (url) => agreed("ui/open-link", { url }),
    download: (contents) => agreed("ui/download-file", { contents: [].concat(contents) }),
    message: (content) => agreed("ui/message", { role: "user", content: blocks(content) }),
    context: (content, structuredContent) =>
      request("ui/update-model-context", { content: blocks(content), ...(structuredContent && { structuredContent }) }),
    mode: async (mode) => (await request("ui/request-display-mode", { mode })).mode,
    log: (level, data) => notify("notifications/message", { level, logger: info.name, data }),
    close: () => notify("ui/notifications/request-teardown"),
    toolsChanged: () => notify("notifications/tools/list_changed"),
  };
}
