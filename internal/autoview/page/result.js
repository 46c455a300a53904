// A tool's result as data: what can be drawn, what can only be said.
import { isObject, own } from './value.js';

const most = 8 << 20; // of a text that is tried as JSON

// readResult takes any CallToolResult, also one that breaks the specification.
export function readResult(result) {
  const blocks = Array.isArray(own(result, 'content')) ? result.content.filter(isObject).slice(0, 200) : [];
  const read = {
    failed: own(result, 'isError') === true,
    value: undefined,
    whole: own(result, 'structuredContent'),
    texts: [],
    media: [],
    links: [],
    cuts: [],
    next: own(own(result, '_meta'), 'junctor/next-page'),
  };
  for (const block of blocks) {
    if (block.type === 'text' && typeof block.text === 'string') read.texts.push(block.text);
    else if ((block.type === 'image' || block.type === 'audio') && typeof block.data === 'string') read.media.push(block);
    else if (block.type === 'resource_link' && typeof block.uri === 'string') read.links.push(block);
    else if (block.type === 'resource' && typeof own(block.resource, 'text') === 'string') read.texts.push(block.resource.text);
  }
  if (read.whole === undefined || read.whole === null) read.whole = jsonIn(read.texts);
  read.value = unwrap(read.whole, read);
  if (!isObject(read.next)) read.next = undefined;
  return read;
}

// unwrap takes away what was put around an answer that is no object, and what says
// that it was cut.
function unwrap(value, read) {
  if (!isObject(value)) return value;
  const rest = { ...value };
  for (const mark of ['truncated', '_truncated']) {
    const cut = own(own(value, mark), 'cut');
    if (Array.isArray(cut)) {
      read.cuts = cut.filter((c) => isObject(c) && typeof c.pointer === 'string' && Number.isFinite(c.shown) && Number.isFinite(c.of));
      delete rest[mark];
    }
  }
  const keys = Object.keys(rest);
  return keys.length === 1 && keys[0] === 'result' ? rest.result : rest;
}

function jsonIn(texts) {
  for (const text of texts) {
    const t = text.trimStart();
    if (text.length > most || (t[0] !== '{' && t[0] !== '[')) continue;
    try {
      return JSON.parse(text);
    } catch {
      // It is a text that begins like JSON.
    }
  }
  return undefined;
}
