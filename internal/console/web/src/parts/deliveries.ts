import type { Delivery, Endpoint } from '../api/happenings';
import { count } from './format.ts';

// How deliveries and the endpoints that they go to are named for people.

export const states: Delivery['state'][] = ['waiting', 'ready', 'leased', 'held', 'done', 'dead', 'dropped'];

export const stateNames: Record<string, string> = {
  waiting: 'in line',
  ready: 'due',
  leased: 'under way',
  held: 'held',
  done: 'delivered',
  dead: 'dead',
  dropped: 'dropped',
};

export interface Standing {
  tone: '' | 'good' | 'warn' | 'bad' | 'act';
  name: string;
  about: string;
}

const alone = (e: Endpoint | undefined): boolean => e !== undefined && (e.state === 'open' || e.state === 'stopped');

// standing is how a delivery stands, with what is known of its endpoint: one that
// is left alone holds all that would go there.
export function standing(d: Pick<Delivery, 'state' | 'attempts' | 'held'>, endpoint?: Endpoint): Standing {
  const name = stateNames[d.state] ?? d.state;
  switch (d.state) {
    case 'done':
      return { tone: 'good', name, about: 'The tool was called, and answered.' };
    case 'dead':
      return { tone: 'bad', name, about: 'It was given up; it can be replayed.' };
    case 'dropped':
      return { tone: '', name, about: 'Somebody ended it.' };
    case 'held':
      return { tone: 'warn', name, about: d.held ? `Held: ${d.held.replaceAll('_', ' ')}.` : 'Held.' };
    case 'leased':
      return { tone: 'act', name, about: 'An attempt is being made.' };
  }
  if (d.held) return { tone: 'warn', name: 'held', about: `Held: ${d.held.replaceAll('_', ' ')}.` };
  if (alone(endpoint)) return { tone: 'warn', name: 'held back', about: 'Its endpoint is left alone just now; no attempt is lost.' };
  if (d.state === 'waiting') return { tone: '', name, about: 'It waits for the one before it, of the same agent.' };
  return d.attempts > 0
    ? { tone: 'warn', name: 'to retry', about: 'An attempt failed; another follows.' }
    : { tone: 'act', name, about: 'It is made as soon as there is room.' };
}

export const ended = (d: Pick<Delivery, 'state'>): boolean => ['done', 'dead', 'dropped'].includes(d.state);

export type Act = 'replay' | 'release' | 'hold' | 'drop';

// sensible says which changes make sense for a delivery in a state.
const sensible: Record<Act, Delivery['state'][]> = {
  replay: ['done', 'dead', 'dropped', 'held', 'ready'],
  release: ['held'],
  hold: ['waiting', 'ready', 'leased'],
  drop: ['waiting', 'ready', 'leased', 'held', 'dead'],
};
export const may = (act: Act, d: Pick<Delivery, 'state' | 'held'>): boolean =>
  sensible[act].includes(d.state) || (act === 'release' && !!d.held && !ended(d));

// targetOf says where the name of an endpoint leads: server:demo, agent:42, an
// address, or resolve:HOW:AGENT.
export function targetOf(endpoint: string): { kind: string; name: string } {
  const [kind = '', ...rest] = endpoint.split(':');
  if (kind === 'server' || kind === 'agent' || kind === 'resolve') return { kind, name: rest.join(':') };
  return { kind: 'address', name: endpoint };
}

export const breakers: Record<string, Standing> = {
  closed: { tone: 'good', name: 'in order', about: 'It is called as deliveries come.' },
  open: { tone: 'bad', name: 'left alone', about: 'It failed too often. One delivery is sent ahead when the pause is over.' },
  half: { tone: 'warn', name: 'being tried', about: 'One delivery was sent ahead; the others follow when it arrives.' },
  stopped: { tone: 'warn', name: 'stopped', about: 'Nothing is sent until somebody starts it again.' },
};

// many is so many deliveries.
export const many = (n: number): string => (n === 1 ? '1 delivery' : `${count(n)} deliveries`);
