import type { Schemas, Server } from '../../api/client';
import { joinCommand, parseEnv, splitCommand } from '../../parts/command.ts';
import { authOf, type Draft, lines, parseHeaders, ruleLines } from '../../parts/connection.ts';

// A server as it stands in the fields of its form, and back. A field that a kind of
// server does not show keeps its stored value, so it is not part of a patch.

export type ServerPatch = Omit<Schemas['ServerPatchBody'], '$schema'>;

export const isGenerated = (s: Pick<Server, 'mode'>): boolean => s.mode === 'auto-generated';
export const isCommand = (s: Pick<Server, 'transport'>): boolean => s.transport === 'stdio';

export const fieldsOf = (s: Server) => ({
  title: s.title ?? '',
  isPrivate: s.private ?? false,
  url: s.url ?? '',
  transport: s.transport ?? 'http',
  command: joinCommand(s.command ?? []),
  cwd: s.cwd ?? '',
  env: lines(s.env),
  headers: lines(s.headers, ': '),
  auth: { ...((s.auth as Draft | undefined) ?? { type: 'none' }) } as Draft,
  credentials: s.credentials || 'shared',
  isolation: s.isolation || 'shared',
  home: (s.home === 'one' ? 'one' : 'each') as 'each' | 'one',
  sessions: s.max_sessions ?? 0,
  timeout: s.call_timeout ?? '',
  exposure: (s.api?.exposure || 'auto') as string,
  rules: (s.api?.include ?? []).join('\n'),
  mutations: (s.api?.mutations ?? '') as string,
  rate: s.api?.rate ?? 0,
  documentURL: s.api?.document_url ?? '',
  poll: s.api?.poll_minutes ?? 0,
});
export type ServerFields = ReturnType<typeof fieldsOf>;

// labels name the fields in the form and in the dialog that shows a conflict.
export const labels: Record<keyof ServerFields, string> = {
  title: 'Title',
  isPrivate: 'Visible only to its owner',
  url: 'URL',
  transport: 'Transport',
  command: 'Command',
  cwd: 'Working directory',
  env: 'Environment',
  headers: 'Headers',
  auth: 'Authentication',
  credentials: 'Credentials for calls',
  isolation: 'Isolation',
  home: 'Replicas',
  sessions: 'Maximum connections or processes',
  timeout: 'Call timeout',
  exposure: 'Tool listing',
  rules: 'Operations',
  mutations: 'GraphQL mutations',
  rate: 'Requests per second',
  documentURL: 'URL of the documentation',
  poll: 'Check interval in minutes',
};

const members: { [F in keyof ServerFields]: (value: ServerFields[F], s: Pick<Server, 'mode'>) => ServerPatch } = {
  title: (title) => ({ title }),
  isPrivate: (value) => ({ private: value }),
  url: (url, s) => (isGenerated(s) ? { base_url: url } : { url }),
  transport: (transport) => ({ transport }),
  command: (line) => ({ command: splitCommand(line).words }),
  cwd: (cwd) => ({ cwd }),
  env: (text) => ({ env: parseEnv(text).env }),
  headers: (text) => ({ headers: parseHeaders(text).headers }),
  auth: (auth) => ({ auth: authOf(auth) }),
  credentials: (credentials) => ({ credentials }),
  isolation: (isolation) => ({ isolation }),
  home: (home) => ({ home }),
  sessions: (n) => ({ max_sessions: n }),
  timeout: (duration) => ({ call_timeout: duration.trim() }),
  exposure: (exposure) => ({ exposure: exposure as NonNullable<ServerPatch['exposure']> }),
  rules: (text) => ({ include: ruleLines(text) }),
  mutations: (mutations) => ({ mutations: mutations as NonNullable<ServerPatch['mutations']> }),
  rate: (rate) => ({ rate }),
  documentURL: (url) => ({ document_url: url }),
  poll: (minutes) => ({ poll_minutes: minutes }),
};

// patchOf is what the fields change of a stored server.
export function patchOf(fields: ServerFields, s: Server): ServerPatch {
  const stored = fieldsOf(s);
  const part = <F extends keyof ServerFields>(f: F, from: ServerFields) => members[f](from[f], s);
  const changed = (Object.keys(members) as (keyof ServerFields)[]).filter(
    (f) => JSON.stringify(part(f, fields)) !== JSON.stringify(part(f, stored)),
  );
  return Object.assign({}, ...changed.map((f) => part(f, fields))) as ServerPatch;
}
