import type { Delivery, Endpoint } from '../api/events';
import { count } from './format.ts';

// How deliveries and the endpoints that they go to are named for people.

export const states: Delivery['state'][] = ['waiting', 'ready', 'leased', 'held', 'done', 'dead', 'dropped'];

export const stateNames: Record<string, string> = {
  waiting: 'queued',
  ready: 'scheduled',
  leased: 'running',
  held: 'paused',
  done: 'delivered',
  dead: 'dead letter',
  dropped: 'discarded',
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
      return { tone: 'good', name, about: 'The tool was called and answered.' };
    case 'dead':
      return { tone: 'bad', name, about: 'All attempts failed. It can be replayed.' };
    case 'dropped':
      return { tone: '', name, about: 'It was discarded by a user.' };
    case 'held':
      return { tone: 'warn', name, about: d.held ? `Paused: ${d.held.replaceAll('_', ' ')}.` : 'Paused.' };
    case 'leased':
      return { tone: 'act', name, about: 'An attempt is running.' };
  }
  if (d.held) return { tone: 'warn', name: 'paused', about: `Paused: ${d.held.replaceAll('_', ' ')}.` };
  if (alone(endpoint))
    return { tone: 'warn', name: 'breaker open', about: 'The breaker of its endpoint is open. This uses up no attempt.' };
  if (d.state === 'waiting') return { tone: '', name, about: 'It waits for an earlier delivery with the same order key.' };
  return d.attempts > 0
    ? { tone: 'warn', name: 'retrying', about: 'An attempt failed. Another follows.' }
    : { tone: 'act', name, about: 'It starts as soon as there is capacity.' };
}

export const ended = (d: Pick<Delivery, 'state'>): boolean => ['done', 'dead', 'dropped'].includes(d.state);

export type DeliveryAction = 'replay' | 'release' | 'hold' | 'drop';

// sensible says which changes make sense for a delivery in a state.
const sensible: Record<DeliveryAction, Delivery['state'][]> = {
  replay: ['done', 'dead', 'dropped', 'held', 'ready'],
  release: ['held'],
  hold: ['waiting', 'ready', 'leased'],
  drop: ['waiting', 'ready', 'leased', 'held', 'dead'],
};
export const may = (act: DeliveryAction, d: Pick<Delivery, 'state' | 'held'>): boolean =>
  sensible[act].includes(d.state) || (act === 'release' && !!d.held && !ended(d));

// targetOf says where the name of an endpoint leads: server:demo, agent:42, an
// address, or resolve:HOW:AGENT.
export function targetOf(endpoint: string): { kind: string; name: string } {
  const [kind = '', ...rest] = endpoint.split(':');
  if (kind === 'server' || kind === 'agent' || kind === 'resolve') return { kind, name: rest.join(':') };
  return { kind: 'address', name: endpoint };
}

// endpointPage is the address of the page of an endpoint. Its name may be a URL.
export const endpointPage = (name: string): string => `/endpoints/one?${new URLSearchParams({ endpoint: name })}`;

export const breakers: Record<string, Standing> = {
  closed: { tone: 'good', name: 'healthy', about: 'Deliveries are sent as they come.' },
  open: { tone: 'bad', name: 'breaker open', about: 'It failed too often. After a pause, one delivery tests it.' },
  half: { tone: 'warn', name: 'testing', about: 'One delivery tests it. If it succeeds, the others follow.' },
  stopped: { tone: 'warn', name: 'stopped', about: 'Nothing is sent until it is started again.' },
};

// many is so many deliveries.
export const many = (n: number): string => (n === 1 ? '1 delivery' : `${count(n)} deliveries`);
