import type { LogItem } from './api';
import { isObject, type Params } from './protocol';
import { blocks } from './state';

// What a View and its sandbox say, read and put into words.

export const refusalReasons: Record<string, string> = {
  reserved: 'The App used a method name reserved for the proxy.',
  origin: 'A message came from another origin.',
  'too-large': 'A message was too large.',
  flood: 'The App sent too many messages at once.',
  form: 'The message is not JSON-RPC.',
};

// describeStop is what an entry says of something that was stopped; "" is none of that.
export function describeStop(item: LogItem): string {
  const d = isObject(item.detail) ? item.detail : {};
  if (item.kind === 'violation') return `The policy blocked ${String(d.blocked || 'a request')} (${String(d.directive ?? '')}).`;
  return typeof d.refused === 'string' ? `Refused: ${d.refused}` : '';
}

export const paramsOf = (m: unknown): Params => (isObject(m) && isObject(m.params) ? m.params : {});

// inside says whether a window is somewhere below another.
export function inside(source: MessageEventSource | null, below: Window | null): boolean {
  let w = source as Window | null;
  for (let i = 0; w && 'parent' in w && i < 5; i++) {
    if (w.parent === below) return true;
    if (w.parent === w) return false;
    w = w.parent;
  }
  return false;
}

// contentOf reads what an App says. The text of the protocol shows one block
// where its schema has a list.
export function contentOf(content: unknown): Params[] | undefined {
  const list = [content].flat().filter((c) => c !== undefined);
  return list.every((c): c is Params => isObject(c) && typeof c.type === 'string' && c.type in blocks) ? list : undefined;
}
