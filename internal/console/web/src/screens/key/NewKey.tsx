import { Button, Checkbox, Modal, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type CreatedKey, type User, useAction } from '../../api/admin';
import { type Key, send } from '../../api/client';
import { useAgents, useMe } from '../../api/data';
import { useFirst } from '../../api/lists';
import { can, type Scope } from '../../app/permissions';
import { agentScopes, roleScopes, scopeMeanings, scopes } from '../../parts/roles';
import { SuggestInput } from '../../parts/SuggestInput';
import { ErrorCard } from '../../parts/states';
import { TokenDialog } from '../../parts/TokenDialog';
import { useFields } from '../../parts/useFields';

type Owner = 'me' | 'user' | 'agent' | 'service';

const owners: Record<Owner, string> = {
  me: 'You',
  user: 'Another user',
  agent: 'An agent',
  service: 'A service (no user and no agent)',
};

const expiries: [days: string, label: string][] = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['at', 'At a date'],
];

interface Fields {
  name: string;
  owner: Owner;
  user: string;
  agent: string;
  scopes: Scope[];
  expiry: string;
  at: string; // local time
}

function expiresAt({ expiry, at }: Fields): string | undefined {
  if (expiry === '') return undefined;
  return expiry === 'at' ? new Date(at).toISOString() : new Date(Date.now() + Number(expiry) * 24 * 3_600_000).toISOString();
}

// NewKey creates a key: for the user or the agent whose page it is on, or for an owner to
// choose. It offers the scopes that the owner and the person have both.
export function NewKey({ user, agent, close }: { user?: User; agent?: string; close: () => void }) {
  const me = useMe().data;
  const admin = can(me, 'admin');
  const fixed = user !== undefined || agent !== undefined;
  const { fields: f, edit } = useFields<Fields>({
    name: '',
    owner: user ? 'user' : agent ? 'agent' : me?.person ? 'me' : 'service',
    user: user?.name ?? '',
    agent: agent ?? '',
    scopes: ['tools:read', 'tools:call'],
    expiry: '',
    at: '',
  });
  const [typed] = useDebouncedValue(f.user, 150);
  const users = useFirst<User>('/users', { q: typed }, 20, admin && f.owner === 'user' && !user);
  const agents = useAgents(f.owner === 'agent' && !agent).data?.filter((a) => admin || a.owner === `user:${me?.user}`);
  const chosen = user ?? users.data?.items.find((u) => u.name === f.user);
  const role = f.owner === 'me' ? me?.person?.role : f.owner === 'user' ? chosen?.role : undefined;
  const allowed: readonly Scope[] = f.owner === 'agent' ? agentScopes : role ? roleScopes[role] : scopes;
  const offered = scopes.filter((s) => allowed.includes(s) && can(me, s));
  const wanted = f.scopes.filter((s) => offered.includes(s));
  const create = useAction(
    () => {
      const expires_at = expiresAt(f);
      return send<CreatedKey>('POST', '/keys', {
        name: f.name.trim(),
        scopes: wanted,
        ...(f.owner === 'me' ? { user: me?.user } : {}),
        ...(f.owner === 'user' ? { user: user?.id ?? f.user.trim() } : {}),
        ...(f.owner === 'agent' ? { agent: f.agent } : {}),
        ...(expires_at ? { expires_at } : {}),
      } satisfies Partial<Key>);
    },
    { lists: ['keys'] },
  );
  if (create.data) return <TokenDialog token={create.data.key} close={close} />;
  const choices = (['me', 'user', 'agent', 'service'] as const).filter((o) => (o === 'me' ? me?.person : o === 'agent' || admin));
  const missing =
    !f.name.trim() ||
    wanted.length === 0 ||
    (f.owner === 'user' && !f.user.trim()) ||
    (f.owner === 'agent' && !f.agent) ||
    (f.expiry === 'at' && !f.at);
  return (
    <Modal opened onClose={close} title={fixed ? `Create a key for ${user?.name ?? agent}` : 'Create a key'} size="lg">
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (!missing) create.mutate();
        }}
      >
        <TextInput
          label="Purpose"
          placeholder="laptop"
          maxLength={100}
          autoComplete="off"
          data-autofocus
          value={f.name}
          onChange={(e) => edit({ name: e.currentTarget.value })}
        />
        {!fixed && (
          <div className="row" style={{ alignItems: 'flex-end' }}>
            <NativeSelect
              className="grow"
              label="Owner"
              value={f.owner}
              data={choices.map((value) => ({ value, label: owners[value] }))}
              onChange={(e) => edit({ owner: e.currentTarget.value as Owner })}
            />
            {f.owner === 'user' && (
              <SuggestInput
                className="grow"
                label="User"
                placeholder="name@example.com"
                value={f.user}
                known={users.data?.items.map((u) => u.name) ?? []}
                change={(v) => edit({ user: v })}
              />
            )}
            {f.owner === 'agent' && (
              <NativeSelect
                className="grow"
                label="Agent"
                value={f.agent}
                data={[{ value: '', label: agents?.length === 0 ? 'No agents' : 'Choose an agent' }, ...(agents ?? []).map((a) => a.name)]}
                onChange={(e) => edit({ agent: e.currentTarget.value })}
              />
            )}
          </div>
        )}
        <fieldset className="plain stack tight">
          <legend className="label">Scopes</legend>
          {role && <p className="small soft">The role {role} of the user limits the scopes, also if it changes later.</p>}
          {offered.map((s) => (
            <Checkbox
              key={s}
              label={
                <>
                  <code>{s}</code> <span className="soft">{scopeMeanings[s]}</span>
                </>
              }
              checked={wanted.includes(s)}
              onChange={(e) => edit({ scopes: e.currentTarget.checked ? [...f.scopes, s] : f.scopes.filter((x) => x !== s) })}
            />
          ))}
        </fieldset>
        <div className="row" style={{ alignItems: 'flex-end' }}>
          <NativeSelect
            className="grow"
            label="Expires"
            value={f.expiry}
            data={expiries.map(([value, label]) => ({ value, label }))}
            onChange={(e) => edit({ expiry: e.currentTarget.value })}
          />
          {f.expiry === 'at' && (
            <TextInput
              className="grow"
              type="datetime-local"
              label="Date"
              value={f.at}
              onChange={(e) => edit({ at: e.currentTarget.value })}
            />
          )}
        </div>
        <p className="small soft">A key has no limits of its own: the limits of its user or agent apply.</p>
        {create.error && <ErrorCard error={create.error} />}
        <div className="acts">
          <Button type="submit" disabled={missing} loading={create.isPending}>
            Create key
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}
