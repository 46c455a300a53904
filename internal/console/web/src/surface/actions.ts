import { asText, isRecord } from './data.ts';
import type { Surface } from './tree.ts';
import { resolve, type World } from './values.ts';

// What a person does on a surface.

export interface SurfaceAction {
  surfaceId: string;
  component: string; // the id of the one that was pressed
  name: string;
  context: Record<string, unknown>;
  text?: string; // what was done, in words
}

// How is what the place of a press adds to it.
export interface How {
  more?: Record<string, unknown>; // such as the id of a row
  label?: string; // what stands on what was pressed
}

const mostWords = 200;

// labelOf is what stands on something, as it is seen: its parts in lines of their own.
export function labelOf(e: HTMLElement): string {
  // biome-ignore lint/performance/useDomNodeTextContent: the text of parts beside each other would run together
  return e.innerText;
}

function wordsOf(label: string | undefined): { text?: string } {
  const words = label?.replace(/\s+/g, ' ').trim() ?? '';
  return words ? { text: `pressed “${words.slice(0, mostWords)}”` } : {};
}

export type Act = { kind: 'tell'; deed: SurfaceAction } | { kind: 'open'; url: string } | { kind: 'nothing' };

// actOf is what an action means, with the data of the moment: the agent is told,
// or the browser does something itself. What a place adds is told where the
// action does not say otherwise.
export function actOf(action: unknown, surface: Surface, component: string, world: World, how: How = {}): Act {
  if (!isRecord(action)) return { kind: 'nothing' };
  const { event, functionCall } = action;
  if (isRecord(event) && typeof event.name === 'string' && event.name !== '') {
    const context: Record<string, unknown> = { ...how.more };
    for (const [key, v] of Object.entries(isRecord(event.context) ? event.context : {})) {
      const now = resolve(v, world);
      if (now !== undefined) context[key] = now;
    }
    return { kind: 'tell', deed: { surfaceId: surface.id, component, name: event.name, context, ...wordsOf(how.label) } };
  }
  if (isRecord(functionCall) && functionCall.call === 'openUrl' && isRecord(functionCall.args)) {
    const url = asText(resolve(functionCall.args.url, world));
    if (/^https?:\/\//i.test(url)) return { kind: 'open', url };
  }
  return { kind: 'nothing' };
}
