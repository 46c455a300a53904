import { Button, Modal, PasswordInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { endLogins, type SignInLink, type User, useAction, userPath } from '../../api/admin';
import type { Me } from '../../api/client';
import { send } from '../../api/client';
import { Confirm } from '../../parts/Confirm';
import { Ago } from '../../parts/elements';
import { Code } from '../../parts/Json';
import { ErrorCard, Loading } from '../../parts/states';

// What an admin does with the account of a user, each in a dialog of its own.

export const shortestPassword = 12;
export const isLong = (password: string) => [...password].length >= shortestPassword;

export const createLink = (id: string) => send<SignInLink>('POST', `${userPath(id)}/link`);
export const setPassword = (id: string, password: string) => send('PUT', `${userPath(id)}/password`, { password });

export const LinkText = ({ link }: { link: SignInLink }) => (
  <>
    <p className="soft">
      Send it to the user. Anyone with this link can sign in once. It expires <Ago at={link.expires_at} />.
    </p>
    <Code label="Copy the link">{link.url}</Code>
  </>
);

export function LinkDialog({ u, close }: { u: User; close: () => void }) {
  const make = useAction(() => createLink(u.id), { lists: [] });
  const asked = useRef(false); // a second link would end nothing, but be one too many
  const { mutate } = make;
  useEffect(() => {
    if (asked.current) return;
    asked.current = true;
    mutate();
  }, [mutate]);
  return (
    <Modal opened onClose={close} title={`Sign-in link for ${u.name}`} size="lg">
      <div className="stack">
        {make.data ? <LinkText link={make.data} /> : make.error ? <ErrorCard error={make.error} /> : <Loading rows={2} />}
      </div>
    </Modal>
  );
}

export function PasswordDialog({ u, close }: { u: User; close: () => void }) {
  const [password, setText] = useState('');
  const set = useAction(() => setPassword(u.id, password), { lists: ['logins', 'users'], done: close });
  return (
    <Modal opened onClose={close} title={`Set a password for ${u.name}`}>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (isLong(password)) set.mutate();
        }}
      >
        <PasswordInput
          label="New password"
          description={`At least ${shortestPassword} characters. It replaces the former password, and all sessions of the user end.`}
          autoComplete="new-password"
          data-autofocus
          value={password}
          onChange={(e) => setText(e.currentTarget.value)}
        />
        {set.error && <ErrorCard error={set.error} />}
        <div className="acts">
          <Button type="submit" disabled={!isLong(password)} loading={set.isPending}>
            Set password
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}

// SignOut ends all sessions of a user. Of one's own, the session of this page stays.
export function SignOut({ id, name, me, close }: { id: string; name: string; me: Me | undefined; close: () => void }) {
  const own = id === me?.user;
  const end = useAction(() => endLogins(id, own ? me.login : ''), { lists: ['logins'], done: close });
  return (
    <Confirm
      title={own ? 'Sign out all other sessions?' : `Sign out ${name} everywhere?`}
      act={own ? 'Sign out the others' : 'Sign out everywhere'}
      of={end}
      run={() => end.mutate()}
      close={close}
    >
      <p>{own ? 'All your browser sessions end, except this one.' : 'All browser sessions of the user end now.'} Keys keep working.</p>
    </Confirm>
  );
}

export function DisableDialog({ u, close }: { u: User; close: () => void }) {
  const change = useAction(() => send('PATCH', userPath(u.id), { disabled: true }), {
    lists: ['users', 'logins', 'consents'],
    done: close,
  });
  return (
    <Confirm title={`Disable ${u.name}?`} act="Disable user" of={change} run={() => change.mutate()} close={close}>
      <p>
        Sessions, keys and OAuth consents of the user are refused, and so are the keys of their agents. Open streams end. You can enable the
        user again.
      </p>
    </Confirm>
  );
}

export function DeleteDialog({ u, deleted, close }: { u: User; deleted: () => void; close: () => void }) {
  const remove = useAction(() => send('DELETE', userPath(u.id)), {
    lists: ['users', 'keys', 'servers', 'agents'],
    deleted: ['users', u.id],
    done: deleted,
  });
  return (
    <Confirm title={`Delete ${u.name}?`} act="Delete user" typed={u.name} of={remove} run={() => remove.mutate()} close={close}>
      <p>This cannot be undone.</p>
      <ul className="small" style={{ margin: 0, paddingLeft: '1.125rem' }}>
        <li>The user’s keys are revoked, and their sessions end.</li>
        <li>Their credentials are erased, and servers that only they could see are removed.</li>
        <li>Servers and agents that others use become yours. Rotate the keys of these agents.</li>
        <li>Records stay.</li>
      </ul>
    </Confirm>
  );
}
