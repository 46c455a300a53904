import { ask } from './client';
import { type Event, EventReader } from './eventReader';

// stream reads events until they end or the signal says so.
export async function stream(method: string, path: string, body: unknown, signal: AbortSignal, each: (e: Event) => void): Promise<void> {
  const res = await ask(method, path, body, { signal });
  if (!res.body) return;
  const reader = new EventReader();
  const text = res.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await text.read();
    if (done) return;
    for (const e of reader.push(value)) each(e);
  }
}
