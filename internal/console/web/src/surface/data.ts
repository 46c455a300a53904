// The data of a surface: plain JSON, reached by JSON pointers. Nothing of it is
// changed in place, so that what is drawn is always of one moment.

export const isRecord = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);

// within makes a path absolute: one without a slash at its beginning is meant
// from where a list has come to.
export function within(scope: string, path: string): string {
  if (path.startsWith('/')) return path === '/' ? '' : path;
  if (path === '' || path === '.') return scope;
  return `${scope}/${path}`;
}

const steps = (path: string) =>
  path === ''
    ? []
    : path
        .slice(1)
        .split('/')
        .map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));

const isIndex = (s: string) => /^(0|[1-9]\d{0,8})$/.test(s);

// at is what an absolute path leads to; undefined where it leads nowhere.
export function at(data: unknown, path: string): unknown {
  let now = data;
  for (const s of steps(path)) {
    if (Array.isArray(now)) now = isIndex(s) ? now[Number(s)] : undefined;
    else now = isRecord(now) && Object.hasOwn(now, s) ? now[s] : undefined;
  }
  return now;
}

// put is the data with another value at an absolute path. What is missing on the
// way there is made; a step that is no place of a list changes nothing.
export function put(data: unknown, path: string, value: unknown): unknown {
  const [first, ...rest] = steps(path);
  if (first === undefined) return value;
  const deeper = rest.map((s) => `/${s.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  if (Array.isArray(data)) {
    const i = isIndex(first) ? Number(first) : -1;
    if (i < 0 || i > data.length) return data;
    const next = data.slice();
    next[i] = put(data[i], deeper, value);
    return next;
  }
  const now = isRecord(data) ? data : {};
  return { ...now, [first]: put(Object.hasOwn(now, first) ? now[first] : undefined, deeper, value) };
}

// asText is how a value stands in a text.
export function asText(v: unknown): string {
  if (v === undefined || v === null) return '';
  return typeof v === 'object' ? JSON.stringify(v) : String(v);
}

// asNumber reads what is a number, or digits that mean one.
export function asNumber(v: unknown): number | undefined {
  if (typeof v === 'number') return Number.isFinite(v) ? v : undefined;
  if (typeof v !== 'string' || v.trim() === '') return undefined;
  const n = Number(v);
  return Number.isFinite(n) ? n : undefined;
}
