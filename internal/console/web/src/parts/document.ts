// Documents of APIs as texts: lines to draw, files that are one text, and a table
// that a person fills in.

// Rows are the pieces that a text is drawn in. Each belongs to a line, and a long
// line has several: a document may be megabytes in one line.
export interface Rows {
  text: string;
  widest: number; // characters of a row, at most
  count: number;
  lines: number; // how many there are
  starts: Uint32Array; // where each row begins
  of: Uint32Array; // the line that it belongs to, from 1
}

export function rowsOf(text: string, widest = 200): Rows {
  let starts = new Uint32Array(1024);
  let of = new Uint32Array(1024);
  let count = 0;
  let line = 1;
  for (let at = 0; ; line++) {
    const found = text.indexOf('\n', at);
    const end = found < 0 ? text.length : found;
    for (let from = at; ; from += widest) {
      if (count === starts.length) {
        starts = larger(starts);
        of = larger(of);
      }
      starts[count] = from;
      of[count++] = line;
      if (from + widest >= end) break;
    }
    if (found < 0) return { text, widest, count, lines: line, starts, of };
    at = found + 1;
  }
}

function larger(a: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const b = new Uint32Array(a.length * 2);
  b.set(a);
  return b;
}

// rowText is what stands in a row.
export function rowText(r: Rows, i: number): string {
  const end = i + 1 < r.count ? (r.starts[i + 1] as number) : r.text.length;
  return r.text.slice(r.starts[i], end).replace(/\r?\n$/, '');
}

// rowAt is the row that a place is in; the nearest where there is no such place.
export function rowAt(r: Rows, line: number, column = 1): number {
  let low = 0;
  let high = r.count - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((r.of[middle] as number) < line) low = middle + 1;
    else high = middle;
  }
  for (let piece = Math.floor((column - 1) / r.widest); piece > 0 && r.of[low + 1] === line; piece--) low++;
  return low;
}

const named = /^[\s{]*["']?(openapi|swagger)["']?\s*:/m;

// pack makes one text of the files of a document: the first that names a format
// is the document itself, and the others are what it refers to.
export function pack(files: { name: string; text: string }[]): string {
  const [first] = files;
  if (!first || files.length === 1) return first?.text ?? '';
  const main = files.find((f) => named.test(f.text.slice(0, 100_000))) ?? first;
  return JSON.stringify({ junctor_document: main.name, files: Object.fromEntries(files.map((f) => [f.name, f.text])) });
}

// unpack gives the files of a document by what problems call them. A document of
// one file has the name that the preview says.
export function unpack(text: string, name = 'document'): { main: string; files: Map<string, string> } {
  if (text.startsWith('{"junctor_document":'))
    try {
      const all = JSON.parse(text) as { junctor_document: string; files: Record<string, string> };
      return { main: all.junctor_document, files: new Map(Object.entries(all.files)) };
    } catch {
      // it only looks like one
    }
  return { main: name, files: new Map([[name, text]]) };
}

// looksLikeAPI says whether a text, or an address, is rather of an API than of an
// MCP server.
export function looksLikeAPI(text: string): boolean {
  const t = text.trim();
  if (/^https?:\/\/\S+$/i.test(t)) return /(openapi|swagger|api-docs|graphql|postman)[^/]*$|\.(ya?ml|har|graphqls?|apib)([?#]|$)/i.test(t);
  const head = t.slice(0, 20_000);
  return (
    named.test(head) ||
    /"(_postman_id|__schema)"\s*:/.test(head) ||
    /^\{\s*"log"\s*:/.test(head) ||
    /^(curl|FORMAT: 1A)\b/.test(head) ||
    /^(type|interface|schema|extend type)\b[^\n]*\{/m.test(head)
  );
}

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
export const places = ['path', 'query', 'header', 'body', 'form'];
export const kinds = ['string', 'integer', 'number', 'boolean', 'array', 'object'];

export interface Param {
  name: string;
  in: string;
  type: string;
  required: boolean;
  description: string;
}

export interface Operation {
  method: string;
  path: string;
  summary: string;
  parameters: Param[];
}

// withPath is an operation at another path: what stands there in braces are its
// parameters of the path.
export function withPath(op: Operation, path: string): Operation {
  const names = [...new Set([...path.matchAll(/\{([^{}/]+)\}/g)].map((m) => m[1] as string))];
  const had = op.parameters.filter((p) => p.in === 'path');
  const fresh = names.map(
    (name) => had.find((p) => p.name === name) ?? { name, in: 'path', type: 'string', required: true, description: '' },
  );
  return { ...op, path, parameters: [...fresh, ...op.parameters.filter((p) => p.in !== 'path')] };
}

// tableText is a table as the document that it is read as. What has no path yet is
// left out.
export function tableText(title: string, base: string, operations: Operation[]): string {
  const rows = operations
    .filter((o) => o.path.trim())
    .map((o) => ({ ...o, path: o.path.trim(), parameters: o.parameters.filter((p) => p.name.trim()) }));
  return rows.length === 0 ? '' : JSON.stringify({ title, ...(base ? { base_url: base } : {}), operations: rows }, null, 2);
}

// tableOf reads what tableText wrote; nothing where it is another document.
export function tableOf(text: string): { title: string; base: string; operations: Operation[] } | undefined {
  try {
    const t = JSON.parse(text) as { title?: string; base_url?: string; operations?: Partial<Operation>[]; openapi?: unknown };
    if (!Array.isArray(t.operations) || t.openapi) return undefined;
    const operations = t.operations.map((o) => ({
      method: (o.method ?? 'GET').toUpperCase(),
      path: o.path ?? '',
      summary: o.summary ?? '',
      parameters: (o.parameters ?? []).map((p) => ({
        name: p.name ?? '',
        in: p.in || 'query',
        type: p.type || 'string',
        required: p.required ?? false,
        description: p.description ?? '',
      })),
    }));
    return { title: t.title ?? '', base: t.base_url ?? '', operations };
  } catch {
    return undefined;
  }
}
