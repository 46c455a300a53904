import { Button, Modal, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { type SignInLink, type User, useAction, useTiers } from '../../api/admin';
import { send } from '../../api/client';
import { faultsOf, unplaced } from '../../parts/faults';
import { roleMeanings, roles } from '../../parts/roles';
import { ErrorCard } from '../../parts/states';
import { createLink, isLong, LinkText, setPassword, shortestPassword } from './dialogs';

interface Fields {
  name: string;
  role: User['role'];
  tier: string;
  by: 'link' | 'password' | 'none';
  password: string;
}

// NewUser adds a user, and with it the first way to sign in.
export function NewUser({ close }: { close: () => void }) {
  const [, navigate] = useLocation();
  const tiers = useTiers();
  const [f, setFields] = useState<Fields>({ name: '', role: 'viewer', tier: 'free', by: 'link', password: '' });
  const edit = (part: Partial<Fields>) => setFields({ ...f, ...part });
  const show = (u: User) => {
    close();
    navigate(`/users/${u.id}`);
  };
  const access = useAction(
    async (u: User): Promise<SignInLink | null> => {
      if (f.by === 'link') return createLink(u.id);
      if (f.by === 'password') await setPassword(u.id, f.password);
      return null;
    },
    { lists: [], done: (link, u) => !link && show(u) },
  );
  const add = useAction(() => send<User>('POST', '/users', { name: f.name.trim(), role: f.role, tier: f.tier }), {
    lists: ['users'],
    done: (u) => access.mutate(u),
  });
  const made = add.data;
  if (made)
    return (
      <Modal opened onClose={close} title={`${made.name} was added`} size="lg">
        <div className="stack">
          {access.data && <LinkText link={access.data} />}
          {access.error && <ErrorCard error={access.error} title="The user was added, but has no way to sign in yet" />}
          <div className="acts">
            <Button loading={access.isPending} onClick={() => show(made)}>
              Open the user
            </Button>
          </div>
        </div>
      </Modal>
    );
  const faults = faultsOf(add.error, ['name', 'role', 'tier'], 'name');
  const ready = f.name.trim() !== '' && (f.by !== 'password' || isLong(f.password));
  return (
    <Modal opened onClose={close} title="Add a user">
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (ready) add.mutate();
        }}
      >
        <TextInput
          label="Name"
          description="The name to sign in with, such as an e-mail address."
          placeholder="name@example.com"
          autoComplete="off"
          maxLength={100}
          data-autofocus
          value={f.name}
          error={faults.name}
          onChange={(e) => {
            add.reset();
            edit({ name: e.currentTarget.value });
          }}
        />
        <NativeSelect
          label="Role"
          description={roleMeanings[f.role]}
          value={f.role}
          data={[...roles]}
          onChange={(e) => edit({ role: e.currentTarget.value as User['role'] })}
        />
        <NativeSelect
          label="Tier"
          description="Sets the limits of the user’s calls."
          value={f.tier}
          error={faults.tier}
          data={[...new Set([f.tier, ...(tiers.data ?? [])])]}
          onChange={(e) => edit({ tier: e.currentTarget.value })}
        />
        <NativeSelect
          label="First sign-in"
          description={f.by === 'none' ? 'The user signs in with the identity provider, or you create a link later.' : undefined}
          value={f.by}
          data={[
            { value: 'link', label: 'With a one-time link' },
            { value: 'password', label: 'With a password' },
            { value: 'none', label: 'No link and no password' },
          ]}
          onChange={(e) => edit({ by: e.currentTarget.value as Fields['by'] })}
        />
        {f.by === 'password' && (
          <PasswordInput
            label="Password"
            description={`At least ${shortestPassword} characters. The user can change it.`}
            autoComplete="new-password"
            value={f.password}
            onChange={(e) => edit({ password: e.currentTarget.value })}
          />
        )}
        {unplaced(add.error, faults) ? <ErrorCard error={add.error} /> : null}
        <div className="acts">
          <Button type="submit" disabled={!ready} loading={add.isPending}>
            Add user
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}
