import type { Line } from './bridge.ts';

// Entry is one line of a View's log.
export interface Entry extends Line {
  n: number;
  at: Date;
  size: number;
}

const mostEntries = 400;
const mostText = 20_000;

// Journal keeps the newest of what was said. A View may say much and long
// things: what it takes in memory is bounded.
export class Journal {
  entries: readonly Entry[] = [];
  dropped = 0;
  private n = 0;

  add(line: Line, at = new Date()) {
    const text = line.body === undefined ? '' : (JSON.stringify(line.body) ?? '');
    const body = text.length > mostText ? `${text.slice(0, mostText)} … ${text.length - mostText} more characters` : line.body;
    const all = [...this.entries, { ...line, body, n: ++this.n, at, size: text.length }];
    this.dropped += Math.max(0, all.length - mostEntries);
    this.entries = all.slice(-mostEntries);
  }
}
