import { Button, Modal, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useLocation } from 'wouter';
import { type SignInLink, type User, useAction, useTiers } from '../../api/admin';
import { send } from '../../api/client';
import { faultsOf, unplaced } from '../../parts/faults';
import { roleMeanings, roles } from '../../parts/roles';
import { ErrorCard } from '../../parts/states';
import { useFields } from '../../parts/useFields';
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
  const { fields: f, text } = useFields<Fields>({ name: '', role: 'viewer', tier: 'free', by: 'link', password: '' }, () => add.reset());
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
          error={faults.name}
          {...text('name')}
        />
        <NativeSelect label="Role" description={roleMeanings[f.role]} data={[...roles]} {...text('role')} />
        <NativeSelect
          label="Tier"
          description="Sets the limits of the user’s calls."
          error={faults.tier}
          data={[...new Set([f.tier, ...(tiers.data ?? [])])]}
          {...text('tier')}
        />
        <NativeSelect
          label="First sign-in"
          description={f.by === 'none' ? 'The user signs in with the identity provider, or you create a link later.' : undefined}
          data={[
            { value: 'link', label: 'With a one-time link' },
            { value: 'password', label: 'With a password' },
            { value: 'none', label: 'No link and no password' },
          ]}
          {...text('by')}
        />
        {f.by === 'password' && (
          <PasswordInput
            label="Password"
            description={`At least ${shortestPassword} characters. The user can change it.`}
            autoComplete="new-password"
            {...text('password')}
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
