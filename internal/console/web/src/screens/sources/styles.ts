import type { Source } from '../../api/events';

export type Style = Source['style'];

interface Facts {
  name: string;
  about: string;
  makes: boolean; // a secret can be made here
}

// styles are how the messages of a source are known to be its.
export const styles: Record<Style, Facts> = {
  standard: { name: 'Standard Webhooks', about: 'The headers webhook-id, webhook-timestamp and webhook-signature.', makes: true },
  github: { name: 'GitHub', about: 'The signature of GitHub. Enter the secret in GitHub too.', makes: true },
  stripe: { name: 'Stripe', about: 'Stripe generates the secret. Enter it here.', makes: false },
  hmac: { name: 'HMAC of the body', about: 'HMAC-SHA256 of the body as hex in a header.', makes: true },
  redis: { name: 'Redis list', about: 'Jobs are read from a list and kept until they are stored here.', makes: false },
  'redis-stream': { name: 'Redis stream', about: 'Jobs are read from a stream and kept until they are stored here.', makes: false },
};

export const pulled = (s: Style): boolean => s === 'redis' || s === 'redis-stream';

// makeSecret makes a secret, in the form that a style has for it.
export function makeSecret(style: Style): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  if (style === 'standard') return `whsec_${btoa(String.fromCharCode(...bytes))}`;
  return [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('');
}

export const isName = (text: string): boolean => /^[a-z][a-z0-9-]{0,62}$/.test(text);
export const nameRule = 'Start with a lowercase letter, then up to 62 lowercase letters, digits or hyphens.';
