import type { Schemas } from '../api/client';

export type AuthBody = Schemas['AuthBody'];
export type AuthType = AuthBody['type'];

// kept stands where a secret is stored: sent back, it means that one.
export const kept = '***';

export const authNames: Record<AuthType, string> = {
  none: 'It asks for nothing',
  bearer: 'Bearer token',
  'api-key': 'API key in a header',
  basic: 'Name and password',
  oauth: 'People log in (OAuth)',
  'oauth-client': 'Client credentials (OAuth)',
};

// Draft is an auth while somebody writes it.
export type Draft = Omit<AuthBody, 'token' | 'key' | 'password' | 'client_secret'>;

// authOf is what is sent: of each type only what belongs to it.
export function authOf(d: Draft): AuthBody {
  const out: AuthBody = { type: d.type };
  const take = (...names: ('header' | 'username' | 'client_id' | 'token_url' | 'issuer' | 'scope' | 'client_auth')[]) => {
    for (const n of names) if (d[n]) Object.assign(out, { [n]: d[n] });
  };
  if (d.type !== 'none' && d.secret) out.secret = d.secret;
  if (d.type === 'api-key') take('header');
  if (d.type === 'basic') take('username');
  if (d.type === 'oauth') take('client_id', 'issuer', 'scope', 'client_auth');
  if (d.type === 'oauth-client') take('client_id', 'token_url', 'issuer', 'scope', 'client_auth');
  return out;
}

// lacks says what is missing yet; "" where nothing is.
export function lacks(d: Draft): string {
  if (['bearer', 'api-key', 'basic'].includes(d.type) && !d.secret) return 'The secret is missing.';
  if (d.type === 'basic' && !d.username) return 'The name is missing.';
  if (d.type === 'oauth-client' && !(d.client_id && d.secret)) return 'The client and its secret are missing.';
  return '';
}

// lines writes values a line each.
export const lines = (values: Record<string, string> | undefined, between = '='): string =>
  Object.entries(values ?? {})
    .map(([k, v]) => `${k}${between}${v}`)
    .join('\n');

// parseHeaders reads Name: value lines.
export function parseHeaders(text: string): { headers: Record<string, string>; problem?: string } {
  const headers: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf(':');
    const name = line.slice(0, at).trim();
    if (at < 1 || !/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return { headers, problem: `“${line.trim()}” is not Name: value.` };
    headers[name] = line.slice(at + 1).trim();
  }
  return { headers };
}
