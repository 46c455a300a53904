import { createContext, type ReactNode, useContext, useState } from 'react';
import type { How } from './actions';
import { at } from './data';
import type { Branch, Surface } from './tree';
import { boundTo, resolve, textOf, type World } from './values';

// What the components of one surface share.
export interface Stage {
  surface: Surface;
  agent: string; // whose surface it is
  data: unknown;
  set: (path: string, value: unknown) => void;
  act: (action: unknown, component: string, world: World, how?: How) => void;
  busy: boolean; // something is going on; nothing can be pressed
  draw: (b: Branch) => ReactNode;
}

export const StageContext = createContext<Stage | undefined>(undefined);

export function useStage(): Stage {
  const stage = useContext(StageContext);
  if (!stage) throw new Error('a component stands outside of a surface');
  return stage;
}

export interface Place {
  b: Branch;
}

// useProps reads the properties of a component as they are now.
export function useProps(b: Branch) {
  const stage = useStage();
  const world: World = { data: stage.data, scope: b.scope };
  return {
    stage,
    world,
    value: (name: string) => resolve(b.of[name], world),
    text: (name: string) => textOf(b.of[name], world),
    word: (name: string) => (typeof b.of[name] === 'string' ? (b.of[name] as string) : ''),
    label: textOf((b.of.accessibility as { label?: unknown } | undefined)?.label, world) || undefined,
    about: textOf((b.of.accessibility as { description?: unknown } | undefined)?.description, world) || undefined,
  };
}

// useBound is a value that a person may change. Where it is bound to no place in
// the data, it is the component's own.
export function useBound(b: Branch, name = 'value'): [unknown, (v: unknown) => void] {
  const stage = useStage();
  const [own, setOwn] = useState<unknown>(undefined);
  const place = boundTo(b.of[name], b.scope);
  if (place !== undefined) return [at(stage.data, place), (v) => stage.set(place, v)];
  return [own ?? resolve(b.of[name], { data: stage.data, scope: b.scope }), setOwn];
}

// Instead is what a press does where a component's own action is not meant: the
// one that opens a dialog.
export const Instead = createContext<(() => void) | undefined>(undefined);

// Inside a button, texts are words and not blocks.
export const Pressed = createContext(false);
