import type { Schemas } from '../api/client';
import type { Scope } from '../app/permissions';

type Role = Schemas['User']['role'];

export const scopes: readonly Scope[] = [
  'tools:read',
  'tools:call',
  'bridge:call',
  'events:send',
  'servers:write',
  'agents:write',
  'keys:write',
  'audit:read',
  'policy:write',
  'admin',
];

export const scopeMeanings: Record<Scope, string> = {
  'tools:read': 'List tools, resources and prompts',
  'tools:call': 'Call tools, read resources and get prompts',
  'bridge:call': 'Call servers by URL that are not added here',
  'events:send': 'Send events',
  'servers:write': 'Add, change and delete servers',
  'agents:write': 'Add, change and delete agents',
  'keys:write': 'Create, rotate and revoke keys',
  'audit:read': 'Read calls and the journal',
  'policy:write': 'Read and change the rules about calls',
  admin: 'Everything in the tenant',
};

export const roles: readonly Role[] = ['viewer', 'developer', 'admin'];

export const roleMeanings: Record<Role, string> = {
  viewer: 'Lists tools, and reads calls and usage. Changes only their own password and sources.',
  developer: 'Lists and calls tools, adds servers and agents and changes their own, and creates keys for themselves and their agents.',
  admin: 'Everything in the tenant.',
};

// roleScopes are the scopes of each role, which limit the keys of its users. The test of the
// users' screens compares them with those of the API.
export const roleScopes: Record<Role, readonly Scope[]> = {
  viewer: ['tools:read', 'audit:read'],
  developer: scopes.filter((s) => s !== 'admin' && s !== 'policy:write'),
  admin: scopes,
};

// agentScopes are the scopes that a key of an agent may have.
export const agentScopes: readonly Scope[] = ['tools:read', 'tools:call', 'events:send'];
