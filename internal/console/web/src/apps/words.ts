import type { LogItem } from './api';
import { isObject, type Params } from './protocol';
import { blocks } from './state';

// What a View and its sandbox say, read and put into words.

export const reasons: Record<string, string> = {
  reserved: 'It used a name that is the proxy’s.',
  origin: 'A message came from another origin than its own.',
  'too-large': 'A message was too large.',
  flood: 'It said too much at once.',
  form: 'It is not a JSON-RPC message.',
};

// told is what an entry says of something that was stopped; "" is none of that.
export function told(item: LogItem): string {
  const d = isObject(item.detail) ? item.detail : {};
  if (item.kind === 'violation') return `The policy stopped ${String(d.blocked || 'it')} (${String(d.directive ?? '')}).`;
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
