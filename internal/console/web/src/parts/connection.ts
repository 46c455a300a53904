import type { Schemas } from '../api/client';
import forms from '../api/forms.json' with { type: 'json' };
import type { Schema } from './schema.ts';

export type AuthBody = Schemas['AuthBody'];
export type AuthType = AuthBody['type'];

// kept stands where a secret is stored: sent back, it means that one.
export const kept = '***';

export const authNames: Record<AuthType, string> = {
  none: 'None',
  bearer: 'Bearer token',
  'api-key': 'API key in a header',
  basic: 'Basic',
  oauth: 'OAuth (user)',
  'oauth-client': 'OAuth (client)',
};

// Draft is an auth while somebody writes it.
export type Draft = Omit<AuthBody, 'token' | 'key' | 'password' | 'client_secret'>;

// plain are the members that are no secret, by type.
const plain: Record<AuthType, (keyof Draft)[]> = {
  none: [],
  bearer: [],
  'api-key': ['header'],
  basic: ['username'],
  oauth: ['client_id', 'issuer', 'scope', 'client_auth'],
  'oauth-client': ['client_id', 'token_url', 'issuer', 'scope', 'client_auth', 'grant'],
};
const ofGrant: Record<NonNullable<Draft['grant']>, (keyof Draft)[]> = {
  'jwt-bearer': ['subject'],
  'token-exchange': ['subject', 'subject_type', 'audience'],
  enterprise: ['subject', 'idp_token_url', 'idp_client_id', 'idp_secret'],
};

export const authSchema = forms.auth as Schema;

// furtherAuth are the members that nothing above names, as one that is new in the API.
const named = [
  ...['type', 'secret', 'token', 'key', 'password', 'client_secret'],
  ...[plain, ofGrant].flatMap((members) => Object.values(members).flat()),
];
export const furtherAuth: string[] = Object.keys(authSchema.properties ?? {}).filter((name) => !named.includes(name));

// authOf is what is sent: of each type only what belongs to it, as far as that is known here.
export function authOf(d: Draft): AuthBody {
  const out: AuthBody = { type: d.type };
  if (d.type !== 'none' && d.secret) out.secret = d.secret;
  const more = d.type === 'oauth-client' && d.grant ? ofGrant[d.grant] : [];
  const further = d.type === 'none' ? [] : (furtherAuth as (keyof Draft)[]);
  for (const n of [...plain[d.type], ...more, ...further]) if (d[n]) Object.assign(out, { [n]: d[n] });
  return out;
}

// lacks says what is missing yet; "" where nothing is.
export function lacks(d: Draft): string {
  if (['bearer', 'api-key', 'basic'].includes(d.type) && !d.secret) return 'Enter the secret.';
  if (d.type === 'basic' && !d.username) return 'Enter the user name.';
  if (d.type === 'oauth-client' && !d.grant && !(d.client_id && d.secret)) return 'Enter the client ID and its secret.';
  if (d.type === 'oauth-client' && d.grant && !d.subject) return 'Enter the subject of the token.';
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

// parseLines reads name=value lines, with names of any kind.
export function parseLines(text: string): { values: Record<string, string>; problem?: string } {
  const values: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf('=');
    if (line.slice(0, Math.max(at, 0)).trim() === '') return { values, problem: `“${line.trim()}” is not name=value.` };
    values[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return { values };
}

// ruleLines reads rules, one per line.
export const ruleLines = (text: string): string[] =>
  text
    .split('\n')
    .map((r) => r.trim())
    .filter(Boolean);
