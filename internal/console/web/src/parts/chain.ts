import type { ChainAgent, ChainEvent } from '../api/chains';
import type { Tone } from './bits';

// How agents and events of chains are spoken of.

// numberOf is an agent's number: what stands behind the slash of its name.
export const numberOf = (agent: string): string => agent.slice(agent.lastIndexOf('/') + 1);

// agentPage is where an agent is shown. Its name has slashes, so it is no part of
// the path.
export const agentPage = (agent: string): string => `/chain-agents/one?name=${encodeURIComponent(agent)}`;

// shortHex is the beginning and the end of what is long in digits.
export const shortHex = (text: string): string => (/^0x[0-9a-f]{20,}$/i.test(text) ? `${text.slice(0, 8)}…${text.slice(-4)}` : text);

export const eventStates: Record<ChainEvent['state'], { tone: Tone; name: string; about: string }> = {
  seen: { tone: 'act', name: 'seen', about: 'Its block was read; not enough blocks stand on top of it yet.' },
  counted: { tone: 'good', name: 'counts', about: 'Triggers have heard of it.' },
  orphaned: { tone: 'warn', name: 'orphaned', about: 'The chain was reorganised, and no longer has it.' },
};

export const proofs: Record<string, { tone: Tone; name: string; about: string }> = {
  cid: { tone: 'good', name: 'proved by its content', about: 'Every block has the hash that its identifier says.' },
  keccak: { tone: 'good', name: 'proved by its hash', about: 'It has the hash that the chain holds of it.' },
  'cid+keccak': { tone: 'good', name: 'proved twice', about: 'By its content identifier, and by the hash that the chain holds of it.' },
  inline: { tone: 'good', name: 'on the chain itself', about: 'It stands in the registry, and nowhere else.' },
  none: { tone: 'warn', name: 'not proved', about: 'It came over https, and the chain has no hash of it.' },
};

// standingOf is how an agent stands, in one word: what matters most comes first.
export function standingOf(a: ChainAgent): { tone: Tone; name: string; about: string } {
  if (!a.found_at) return { tone: '', name: 'not looked for', about: 'Nothing had to be delivered to it yet.' };
  if (a.endpoint) return { tone: 'good', name: 'found', about: 'Deliveries go to the endpoint of its registration.' };
  if (a.blocked.length > 0) return { tone: 'bad', name: 'blocked', about: 'Its registration names a command, which is never run.' };
  return { tone: 'warn', name: 'no endpoint', about: a.reason ?? '' };
}
