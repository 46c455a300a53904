import { NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { type AuthType, authNames, authSchema, type Draft, furtherAuth, kept } from '../../parts/connection';
import { SchemaField } from '../../parts/SchemaForm';
import { fieldOf } from './serverFields';

// AuthFields are for how Junctor proves to a server who it is.
export function AuthFields({
  draft,
  change,
  types = Object.keys(authNames) as AuthType[],
  label = 'Authentication',
  keyLabel = 'Header',
  disabled = false,
}: {
  draft: Draft;
  change: (d: Draft) => void;
  types?: AuthType[];
  label?: string;
  keyLabel?: string | undefined; // what an API key stands in
  disabled?: boolean;
}) {
  const set = (part: Partial<Draft>) => change({ ...draft, ...part });
  const text = (key: 'header' | 'username' | 'client_id' | 'token_url' | 'issuer' | 'scope', name: string, more: object = {}) => (
    <TextInput
      label={name}
      value={draft[key] ?? ''}
      disabled={disabled}
      onChange={(e) => set({ [key]: e.currentTarget.value })}
      {...more}
    />
  );
  const oauth = draft.type === 'oauth' || draft.type === 'oauth-client';
  return (
    <>
      <NativeSelect
        label={label}
        value={draft.type}
        disabled={disabled}
        data={types.map((t) => ({ value: t, label: authNames[t] }))}
        onChange={(e) => set({ type: e.currentTarget.value as AuthType, secret: '' })}
      />
      {draft.type === 'api-key' && text('header', keyLabel, { placeholder: 'X-API-Key' })}
      {draft.type === 'basic' && text('username', 'User name', { autoComplete: 'off' })}
      {oauth &&
        text('client_id', 'Client ID', {
          description:
            draft.type === 'oauth'
              ? 'Client registration: only if you registered a client by hand. By default, Junctor registers one.'
              : undefined,
        })}
      {oauth && (
        <NativeSelect
          label="Client authentication"
          value={draft.client_auth ?? ''}
          disabled={disabled}
          data={[
            { value: '', label: draft.type === 'oauth' ? 'client secret or none' : 'client secret' },
            { value: 'private-key-jwt', label: 'private key (JWT)' },
          ]}
          onChange={(e) => set({ client_auth: (e.currentTarget.value || undefined) as Draft['client_auth'] })}
        />
      )}
      {draft.type !== 'none' &&
        (draft.client_auth && oauth ? (
          <Textarea
            label="Private key"
            description={draft.secret === kept ? 'A key is stored. Enter a new one to replace it.' : 'In PEM. Stored encrypted.'}
            autosize
            minRows={3}
            maxRows={8}
            disabled={disabled}
            value={draft.secret === kept ? '' : (draft.secret ?? '')}
            onChange={(e) => set({ secret: e.currentTarget.value })}
          />
        ) : (
          <PasswordInput
            label={draft.type === 'basic' ? 'Password' : oauth ? 'Client secret' : 'Secret'}
            description={
              draft.secret === kept
                ? 'A secret is stored. Enter a new one to replace it.'
                : 'Stored encrypted and sent only to this server. Or a reference: env:NAME, file:/path.'
            }
            placeholder={draft.secret === kept ? '•••' : undefined}
            disabled={disabled}
            value={draft.secret === kept ? '' : (draft.secret ?? '')}
            autoComplete="off"
            onChange={(e) => set({ secret: e.currentTarget.value })}
          />
        ))}
      {draft.type === 'oauth-client' && <Grant draft={draft} set={set} disabled={disabled} />}
      {draft.type === 'oauth-client' && text('token_url', 'Token endpoint', { placeholder: 'https://idp.example.com/token' })}
      {oauth && text('issuer', 'Authorization server', { description: 'By default, the one that the server names.' })}
      {oauth && text('scope', 'Scopes', { placeholder: 'read write' })}
      {draft.type !== 'none' &&
        furtherAuth.map((name) => (
          <SchemaField
            key={name}
            name={name}
            schema={authSchema.properties?.[name] ?? {}}
            root={authSchema}
            value={(draft as Record<string, unknown>)[name]}
            change={(v) => set({ [name]: v })}
            wrong={[]}
            pointer={`/auth/${name}`}
            needed={false}
            look={{ label: fieldOf(name).label, disabled }}
          />
        ))}
    </>
  );
}

const subjects: Record<string, string> = {
  'jwt-bearer': 'JWT assertion',
  'token-exchange': 'Subject token',
  enterprise: 'ID token of the user',
};

// Grant is for tokens that are got for something else than the client itself.
function Grant({ draft, set, disabled }: { draft: Draft; set: (part: Partial<Draft>) => void; disabled: boolean }) {
  const secret = (key: 'subject' | 'idp_secret', label: string) => (
    <PasswordInput
      label={label}
      description={
        draft[key] === kept
          ? 'A secret is stored. Enter a new one to replace it.'
          : 'Stored encrypted. Or a reference: env:NAME, file:/path.'
      }
      disabled={disabled}
      value={draft[key] === kept ? '' : (draft[key] ?? '')}
      autoComplete="off"
      onChange={(e) => set({ [key]: e.currentTarget.value })}
    />
  );
  const text = (key: 'audience' | 'idp_token_url' | 'idp_client_id', label: string) => (
    <TextInput label={label} disabled={disabled} value={draft[key] ?? ''} onChange={(e) => set({ [key]: e.currentTarget.value })} />
  );
  return (
    <>
      <NativeSelect
        label="Grant"
        value={draft.grant ?? ''}
        disabled={disabled}
        data={[
          { value: '', label: 'client credentials' },
          { value: 'jwt-bearer', label: 'JWT bearer' },
          { value: 'token-exchange', label: 'token exchange' },
          { value: 'enterprise', label: 'enterprise-managed (user of an identity provider)' },
        ]}
        onChange={(e) => set({ grant: (e.currentTarget.value || undefined) as Draft['grant'], subject: '' })}
      />
      {draft.grant && secret('subject', subjects[draft.grant] ?? 'Subject')}
      {draft.grant === 'token-exchange' && (
        <>
          <NativeSelect
            label="Type of the subject token"
            value={draft.subject_type ?? ''}
            disabled={disabled}
            data={[{ value: '', label: 'access_token' }, 'id_token', 'refresh_token', 'jwt']}
            onChange={(e) => set({ subject_type: (e.currentTarget.value || undefined) as Draft['subject_type'] })}
          />
          {text('audience', 'Audience')}
        </>
      )}
      {draft.grant === 'enterprise' && (
        <>
          {text('idp_token_url', 'Token endpoint of the identity provider')}
          {text('idp_client_id', 'Client ID at the identity provider')}
          {secret('idp_secret', 'Client secret at the identity provider')}
        </>
      )}
    </>
  );
}
