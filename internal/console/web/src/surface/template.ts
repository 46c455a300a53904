// The text that formatString fills in: words, and ${…} with a path or a call of
// a function in it. A part that cannot be read stays as it is written.

export type Expression =
  | { kind: 'text'; text: string | number | boolean }
  | { kind: 'path'; path: string }
  | { kind: 'call'; name: string; args: [string, Expression][] };

const mostDepth = 12;
const mostParts = 500;

export function template(text: string): Expression[] {
  const parts: Expression[] = [];
  let words = '';
  let i = 0;
  while (i < text.length) {
    if (text.startsWith('\\${', i)) {
      words += '${';
      i += 3;
      continue;
    }
    if (text.startsWith('${', i) && parts.length < mostParts) {
      const reader = new Reader(text, i);
      const found = reader.braced(0);
      if (found) {
        if (words) parts.push({ kind: 'text', text: words });
        words = '';
        parts.push(found);
        i = reader.i;
        continue;
      }
    }
    words += text[i];
    i++;
  }
  if (words) parts.push({ kind: 'text', text: words });
  return parts;
}

class Reader {
  readonly text: string;
  i: number;

  constructor(text: string, i: number) {
    this.text = text;
    this.i = i;
  }

  // braced reads ${…}.
  braced(depth: number): Expression | undefined {
    if (depth > mostDepth || !this.text.startsWith('${', this.i)) return undefined;
    this.i += 2;
    const found = this.expression(depth + 1);
    return found && this.take('}') ? found : undefined;
  }

  private expression(depth: number): Expression | undefined {
    this.space();
    if (this.text.startsWith('${', this.i)) return this.braced(depth);
    const quote = this.text[this.i];
    if (quote === "'" || quote === '"') return this.quoted(quote);
    const call = this.match(/([A-Za-z_]\w*)\s*\(/y);
    if (call) return this.call(call[1] ?? '', depth);
    const word = this.match(/[^\s{}(),:'"$]+/y)?.[0];
    if (word === undefined) return undefined;
    if (/^-?\d+(\.\d+)?$/.test(word)) return { kind: 'text', text: Number(word) };
    if (word === 'true' || word === 'false') return { kind: 'text', text: word === 'true' };
    return { kind: 'path', path: word };
  }

  private call(name: string, depth: number): Expression | undefined {
    const args: [string, Expression][] = [];
    if (depth > mostDepth) return undefined;
    if (this.take(')')) return { kind: 'call', name, args };
    do {
      this.space();
      const key = this.match(/([A-Za-z_]\w*)\s*:/y)?.[1];
      const value = key && this.expression(depth + 1);
      if (!key || !value) return undefined;
      args.push([key, value]);
    } while (this.take(','));
    return this.take(')') ? { kind: 'call', name, args } : undefined;
  }

  private quoted(quote: string): Expression | undefined {
    let text = '';
    for (let i = this.i + 1; i < this.text.length; i++) {
      const c = this.text[i];
      if (c === quote) {
        this.i = i + 1;
        return { kind: 'text', text };
      }
      text += c === '\\' && i + 1 < this.text.length ? this.text[++i] : c;
    }
    return undefined;
  }

  private space() {
    this.match(/\s*/y);
  }

  private take(c: string): boolean {
    this.space();
    if (this.text[this.i] !== c) return false;
    this.i++;
    return true;
  }

  private match(re: RegExp): RegExpExecArray | undefined {
    re.lastIndex = this.i;
    const found = re.exec(this.text);
    if (found) this.i = re.lastIndex;
    return found ?? undefined;
  }
}
