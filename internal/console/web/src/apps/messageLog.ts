import type { Line } from './bridge.ts';

// Entry is one line of a View's log.
export interface Entry extends Line {
  n: number;
  at: Date;
  size: number;
}

const mostEntries = 400;
const perSecond = 60;
const mostText = 20_000;

// MessageLog keeps the newest of what was said, and apart from it of what was
// stopped: who talks much covers nothing. What it takes in memory is bounded.
export class MessageLog {
  dropped = 0; // that there was no room for
  private n = 0;
  private said: readonly Entry[] = [];
  private stopped: readonly Entry[] = [];
  private second = { at: 0, count: 0 };

  get entries(): readonly Entry[] {
    return [...this.said, ...this.stopped].sort((a, b) => a.n - b.n);
  }

  add(line: Line, at = new Date()) {
    const stopped = line.kind === 'refused';
    if (!stopped && this.tooFast()) {
      this.dropped++;
      return;
    }
    const text = line.body === undefined ? '' : (JSON.stringify(line.body) ?? '');
    const body = text.length > mostText ? `${text.slice(0, mostText)} … ${text.length - mostText} more characters` : line.body;
    const list = [...(stopped ? this.stopped : this.said), { ...line, body, n: ++this.n, at, size: text.length }];
    this.dropped += Math.max(0, list.length - mostEntries);
    if (stopped) this.stopped = list.slice(-mostEntries);
    else this.said = list.slice(-mostEntries);
  }

  private tooFast(): boolean {
    const now = Math.floor(Date.now() / 1000);
    if (now !== this.second.at) this.second = { at: now, count: 0 };
    return ++this.second.count > perSecond;
  }
}
