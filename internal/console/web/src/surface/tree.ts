import { at, isRecord, within } from './data.ts';

// A surface as an agent sent it, and the tree that is drawn of it.

export interface Component {
  id: string;
  component: string;
  [property: string]: unknown;
}

export interface Surface {
  id: string;
  catalogs?: string[];
  components: Component[];
  data?: unknown;
}

// Branch is a component in its place. The same component stands in several
// places where a list repeats it, each with its own scope.
export interface Branch {
  key: string;
  of: Component;
  scope: string;
  children: Branch[]; // of a row, column or list, and of tabs in their order
  child?: Branch | undefined;
  trigger?: Branch | undefined;
  content?: Branch | undefined;
  fallback?: Branch | undefined; // what stands for an App that is not shown
}

// Problem is what is wrong with a surface, in the form that an agent is told.
export interface Problem {
  code: 'UNKNOWN_COMPONENT' | 'VALIDATION_FAILED';
  path: string;
  message: string;
}

export const mostBranches = 3000;
export const mostItems = 300;
const mostDepth = 40;

// readSurface takes what came over the wire for a surface, where it is one.
export function readSurface(v: unknown): Surface | undefined {
  if (!isRecord(v) || typeof v.id !== 'string' || v.id === '' || !Array.isArray(v.components)) return undefined;
  const components = v.components.filter((c): c is Component => isRecord(c) && typeof c.id === 'string' && typeof c.component === 'string');
  return { id: v.id, components, data: v.data ?? {}, ...(Array.isArray(v.catalogs) ? { catalogs: v.catalogs.map(String) } : {}) };
}

// split parts a component's name from its namespace.
export function split(name: string): { namespace: string; name: string } {
  const i = name.indexOf(':');
  return i < 0 ? { namespace: '', name } : { namespace: name.slice(0, i), name: name.slice(i + 1) };
}

// grow makes the tree of a surface with the data that it has now. It ends with
// every surface, one whose components hold each other as well.
export function grow(surface: Surface, data: unknown): { root: Branch | undefined; problems: Problem[] } {
  const known = new Map<string, [Component, number]>();
  const problems: Problem[] = [];
  surface.components.forEach((c, i) => {
    if (known.has(c.id)) problems.push(wrong(i, `two components have the id ${c.id}`));
    else known.set(c.id, [c, i]);
  });
  let left = mostBranches;
  const plant = (id: unknown, scope: string, above: readonly string[], key: string): Branch | undefined => {
    const found = typeof id === 'string' ? known.get(id) : undefined;
    if (!found) {
      problems.push(wrong(undefined, `no component has the id ${String(id)}`));
      return undefined;
    }
    const [of, place] = found;
    if (above.includes(of.id) || above.length > mostDepth) {
      problems.push(wrong(place, `${of.id} holds itself, or lies too deep`));
      return undefined;
    }
    if (left-- <= 0) {
      if (left === -1) problems.push(wrong(undefined, `more than ${mostBranches} components are to be drawn`));
      return undefined;
    }
    const inside = [...above, of.id];
    const one = (v: unknown, at: string) => (v === undefined ? undefined : plant(v, scope, inside, `${key}/${at}`));
    return {
      key,
      of,
      scope,
      children: childrenOf(of, data, scope).flatMap(([v, where], i) => plant(v, where, inside, `${key}/${i}`) ?? []),
      child: one(of.child, 'child'),
      trigger: one(of.trigger, 'trigger'),
      content: one(of.content, 'content'),
      fallback: of.component === 'mcp:AppFrame' ? one(of.fallback, 'fallback') : undefined,
    };
  };
  return { root: plant('root', '', [], 'root'), problems };
}

// childrenOf gives the ids of a component's children, each with its scope.
function childrenOf(of: Component, data: unknown, scope: string): [unknown, string][] {
  if (of.component === 'Tabs' && Array.isArray(of.tabs)) return of.tabs.map((t) => [isRecord(t) ? t.child : undefined, scope]);
  if (Array.isArray(of.children)) return of.children.map((c) => [c, scope]);
  if (!isRecord(of.children) || typeof of.children.path !== 'string') return [];
  const { componentId, path } = of.children;
  const place = within(scope, path as string);
  const items = at(data, place);
  return Array.isArray(items) ? items.slice(0, mostItems).map((_, i) => [componentId, `${place}/${i}`]) : [];
}

const wrong = (place: number | undefined, message: string): Problem => ({
  code: 'VALIDATION_FAILED',
  path: place === undefined ? '/components' : `/components/${place}`,
  message,
});

// strangers are the components of a surface that nobody here can draw, one
// problem for each name.
export function strangers(surface: Surface, draws: (name: string) => boolean): Problem[] {
  const seen = new Set<string>();
  return surface.components.flatMap((c, i) => {
    if (draws(c.component) || seen.has(c.component)) return [];
    seen.add(c.component);
    return [
      { code: 'UNKNOWN_COMPONENT' as const, path: `/components/${i}/component`, message: `the console has no component ${c.component}` },
    ];
  });
}
