import { asText, isRecord } from './data.ts';
import type { Surface } from './tree.ts';
import { resolve, type World } from './values.ts';

// What a person does on a surface.

export interface Deed {
  surfaceId: string;
  component: string; // the id of the one that was pressed
  name: string;
  context: Record<string, unknown>;
}

export type Act = { kind: 'tell'; deed: Deed } | { kind: 'open'; url: string } | { kind: 'nothing' };

// actOf is what an action means, with the data of the moment: the agent is told,
// or the browser does something itself. more is told where the action does not
// say otherwise.
export function actOf(action: unknown, surface: Surface, component: string, world: World, more: Record<string, unknown> = {}): Act {
  if (!isRecord(action)) return { kind: 'nothing' };
  const { event, functionCall } = action;
  if (isRecord(event) && typeof event.name === 'string' && event.name !== '') {
    const context: Record<string, unknown> = { ...more };
    for (const [key, v] of Object.entries(isRecord(event.context) ? event.context : {})) {
      const now = resolve(v, world);
      if (now !== undefined) context[key] = now;
    }
    return { kind: 'tell', deed: { surfaceId: surface.id, component, name: event.name, context } };
  }
  if (isRecord(functionCall) && functionCall.call === 'openUrl' && isRecord(functionCall.args)) {
    const url = asText(resolve(functionCall.args.url, world));
    if (/^https?:\/\//i.test(url)) return { kind: 'open', url };
  }
  return { kind: 'nothing' };
}
