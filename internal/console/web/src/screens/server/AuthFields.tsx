import { NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { type AuthType, authNames, type Draft, kept } from '../../parts/connection';

// AuthFields are for how Junctor proves to a server who it is.
export function AuthFields({
  draft,
  change,
  types = Object.keys(authNames) as AuthType[],
  label = 'How it knows Junctor',
  disabled = false,
}: {
  draft: Draft;
  change: (d: Draft) => void;
  types?: AuthType[];
  label?: string;
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
      {draft.type === 'api-key' && text('header', 'Header', { placeholder: 'X-API-Key' })}
      {draft.type === 'basic' && text('username', 'Name', { autoComplete: 'off' })}
      {oauth &&
        text('client_id', 'Client id', {
          description: draft.type === 'oauth' ? 'Only where a client was registered by hand; else Junctor becomes one.' : undefined,
        })}
      {oauth && (
        <NativeSelect
          label="The client proves itself by"
          value={draft.client_auth ?? ''}
          disabled={disabled}
          data={[
            { value: '', label: draft.type === 'oauth' ? 'its secret, or not at all' : 'its secret' },
            { value: 'private-key-jwt', label: 'a private key that signs' },
          ]}
          onChange={(e) => set({ client_auth: (e.currentTarget.value || undefined) as Draft['client_auth'] })}
        />
      )}
      {draft.type !== 'none' &&
        (draft.client_auth && oauth ? (
          <Textarea
            label="Private key"
            description={draft.secret === kept ? 'One is kept, sealed. Write another to replace it.' : 'In PEM. It is kept sealed.'}
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
                ? 'One is kept, sealed. Write another to replace it.'
                : 'Kept sealed, and sent to this server alone. Or a reference: env:NAME, file:/path.'
            }
            placeholder={draft.secret === kept ? '•••' : undefined}
            disabled={disabled}
            value={draft.secret === kept ? '' : (draft.secret ?? '')}
            autoComplete="off"
            onChange={(e) => set({ secret: e.currentTarget.value })}
          />
        ))}
      {draft.type === 'oauth-client' && text('token_url', 'Token address', { placeholder: 'https://idp.example.com/token' })}
      {oauth && text('issuer', 'Authorization server', { description: 'The only one to go to; absent for the one that the server names.' })}
      {oauth && text('scope', 'Scopes', { placeholder: 'read write' })}
    </>
  );
}
