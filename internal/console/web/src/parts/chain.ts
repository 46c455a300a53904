import type { ChainAgent, ChainEvent } from '../api/chains';
import type { Tone } from './elements';

// How agents and events of chains are spoken of.

// numberOf is an agent's number: what stands behind the slash of its name.
export const numberOf = (agent: string): string => agent.slice(agent.lastIndexOf('/') + 1);

// agentPage is where an agent is shown. Its name has slashes, so it is no part of
// the path.
export const agentPage = (agent: string): string => `/chain-agents/one?name=${encodeURIComponent(agent)}`;

// shortHex is the beginning and the end of what is long in digits.
export const shortHex = (text: string): string => (/^0x[0-9a-f]{20,}$/i.test(text) ? `${text.slice(0, 8)}…${text.slice(-4)}` : text);

export const eventStates: Record<ChainEvent['state'], { tone: Tone; name: string; about: string }> = {
  seen: { tone: 'act', name: 'seen', about: 'Its block was read, but does not have enough confirmations yet.' },
  counted: { tone: 'good', name: 'confirmed', about: 'It was passed to the triggers.' },
  orphaned: { tone: 'warn', name: 'orphaned', about: 'A reorganization removed it from the chain.' },
};

export const proofs: Record<string, { tone: Tone; name: string; about: string }> = {
  cid: { tone: 'good', name: 'content verified', about: 'The content matches its content identifier (CID).' },
  keccak: { tone: 'good', name: 'hash verified', about: 'The content matches the hash on the chain.' },
  'cid+keccak': {
    tone: 'good',
    name: 'CID and hash verified',
    about: 'The content matches its content identifier (CID) and the hash on the chain.',
  },
  inline: { tone: 'good', name: 'stored on chain', about: 'The registry holds the whole content.' },
  none: { tone: 'warn', name: 'not verified', about: 'It was fetched over HTTPS, and the chain has no hash of it.' },
};

// standingOf is how an agent stands, in one word: what matters most comes first.
export function standingOf(a: ChainAgent): { tone: Tone; name: string; about: string } {
  if (!a.discovered_at) return { tone: '', name: 'not looked up', about: 'It is looked up with its first delivery.' };
  if (a.endpoint) return { tone: 'good', name: 'resolved', about: 'Deliveries go to the endpoint in its registration.' };
  if (a.blocked.length > 0)
    return { tone: 'bad', name: 'blocked', about: 'Its registration names a command. Junctor never runs such commands.' };
  return { tone: 'warn', name: 'no endpoint', about: a.reason ?? '' };
}
