import { isObject, type Params } from './protocol.ts';

// What an App wants to give the person as files.

export interface Offered {
  name: string;
  type: string;
  size: number;
  body: Uint8Array<ArrayBuffer>;
}

export const mostFiles = 10;
export const mostBytes = 10 * 1024 * 1024;

// cleanName is a name that is safe to write to a folder: the last part of the
// address, without what has a meaning there, or that shows as something else.
export function cleanName(uri: string): string {
  let last = uri.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  last = last.slice(Math.max(last.lastIndexOf('/'), last.lastIndexOf('\\')) + 1);
  try {
    last = decodeURIComponent(last);
  } catch {
    // it stays as it is
  }
  last = last
    .slice(Math.max(last.lastIndexOf('/'), last.lastIndexOf('\\')) + 1)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*]/gu, '')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  if (/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(last)) last = `_${last}`;
  if (last.length > 100) {
    const dot = last.lastIndexOf('.');
    const end = dot > 0 && last.length - dot <= 12 ? last.slice(dot) : '';
    last = last.slice(0, 100 - end.length) + end;
  }
  return last || 'download';
}

// fileOf reads the contents of a resource; undefined is none that can be saved.
export function fileOf(resource: unknown): Offered | undefined {
  if (!isObject(resource) || typeof resource.uri !== 'string') return undefined;
  const body = bytesOf(resource);
  if (!body) return undefined;
  const type = typeof resource.mimeType === 'string' ? resource.mimeType.slice(0, 100) : '';
  return { name: cleanName(resource.uri), type, size: body.length, body };
}

function bytesOf(r: Params): Uint8Array<ArrayBuffer> | undefined {
  if (typeof r.text === 'string') return new TextEncoder().encode(r.text);
  if (typeof r.blob !== 'string') return undefined;
  try {
    return Uint8Array.from(atob(r.blob), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}

// linkOf reads an address that a browser may be sent to.
export function linkOf(url: unknown): URL | undefined {
  if (typeof url !== 'string' || url.length > 8192) return undefined;
  try {
    const u = new URL(url);
    return u.protocol === 'http:' || u.protocol === 'https:' ? u : undefined;
  } catch {
    return undefined;
  }
}

// parts are arguments as they would come in piece by piece, to see how an App
// takes them.
export function parts(args: Params): Params[] {
  const out: Params[] = [];
  const names = Object.keys(args);
  names.forEach((name, i) => {
    const before = Object.fromEntries(names.slice(0, i).map((n) => [n, args[n]]));
    const value = args[name];
    if (typeof value === 'string' && value.length > 1) out.push({ ...before, [name]: value.slice(0, Math.ceil(value.length / 2)) });
    out.push({ ...before, [name]: value });
  });
  return out;
}
