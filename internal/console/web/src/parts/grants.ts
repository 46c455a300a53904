// What an agent may use, as a list of server/tool and server/*.

export interface Item {
  server: string;
  name: string;
}

export const grantOf = (t: Item): string => `${t.server}/${t.name}`;
export const wholeOf = (server: string): string => `${server}/*`;

export const has = (grants: string[], t: Item): boolean => grants.includes(grantOf(t)) || grants.includes(wholeOf(t.server));

// toggle gives or takes one tool. Taking one from a server that was granted as
// a whole leaves the others, each by its name.
export function toggle(grants: string[], t: Item, all: Item[]): string[] {
  if (!has(grants, t)) return [...grants, grantOf(t)].sort();
  const whole = wholeOf(t.server);
  const rest = grants.filter((g) => g !== grantOf(t) && g !== whole);
  if (!grants.includes(whole)) return rest;
  const others = all.filter((o) => o.server === t.server && o.name !== t.name).map(grantOf);
  return [...new Set([...rest, ...others])].sort();
}

// toggleServer gives a server as a whole, or takes all of it.
export function toggleServer(grants: string[], server: string): string[] {
  const rest = grants.filter((g) => !g.startsWith(`${server}/`));
  return grants.includes(wholeOf(server)) ? rest : [...rest, wholeOf(server)].sort();
}
