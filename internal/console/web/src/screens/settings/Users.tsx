import { Button, Menu, Modal, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { get, getAll, type Schemas, send } from '../../api/client';
import { useMe } from '../../api/data';
import { ActionMenu } from '../../parts/ActionMenu';
import { Ago, Panel, Tag } from '../../parts/elements';
import { HistoryDialog } from '../../parts/History';
import { Code } from '../../parts/Json';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';

type User = Schemas['User'];
type Link = Schemas['SignInLink'];
const roles = ['viewer', 'developer', 'admin'];

export function Users() {
  const me = useMe().data;
  const cache = useQueryClient();
  const users = useQuery({ queryKey: ['users'], queryFn: ({ signal }) => getAll<User>('/users', signal), select: (p) => p.items });
  const limits = useQuery({ queryKey: ['limits'], queryFn: ({ signal }) => get<Schemas['LimitState']>('/limits', signal) });
  const [name, setName] = useState('');
  const [role, setRole] = useState('viewer');
  const [history, setHistory] = useState<User | null>(null);
  const [link, setLink] = useState<Link | null>(null);
  const settled = { onSettled: () => cache.invalidateQueries({ queryKey: ['users'] }) };
  const add = useMutation({ mutationFn: () => send('POST', '/users', { name, role }), onSuccess: () => setName(''), ...settled });
  const change = useMutation({
    mutationFn: (c: { id: string; body: Partial<User> }) => send('PATCH', `/users/${c.id}`, c.body),
    ...settled,
  });
  const invite = useMutation({ mutationFn: (id: string) => send<Link>('POST', `/users/${id}/link`), onSuccess: setLink });
  const error = add.error ?? change.error ?? invite.error;
  return (
    <Panel>
      <form
        className="pad row"
        style={{ borderBottom: '1px solid var(--line-soft)' }}
        onSubmit={(e) => {
          e.preventDefault();
          if (name) add.mutate();
        }}
      >
        <TextInput
          className="grow"
          style={{ minWidth: '12rem' }}
          placeholder="name@example.com"
          aria-label="Name"
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
        />
        <NativeSelect aria-label="Role" value={role} data={roles} onChange={(e) => setRole(e.currentTarget.value)} />
        <Button type="submit" disabled={!name} loading={add.isPending} leftSection={<Plus size={15} />}>
          Add a user
        </Button>
      </form>
      {error && (
        <div className="pad">
          <ErrorCard error={error} />
        </div>
      )}
      <QueryContent query={users}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No users yet" />
          ) : (
            <div className="rows">
              {all.map((u) => (
                <div key={u.id}>
                  <span className="grow row">
                    <b className="cut">{u.name}</b> {u.disabled && <Tag tone="warn">off</Tag>}{' '}
                    {u.id === me?.user && <Tag tone="act">you</Tag>}
                  </span>
                  <NativeSelect
                    size="xs"
                    className="wide"
                    aria-label={`Tier of ${u.name}`}
                    value={u.tier}
                    data={[...new Set([u.tier, ...Object.keys(limits.data?.tiers ?? {})])]}
                    onChange={(e) => change.mutate({ id: u.id, body: { tier: e.currentTarget.value } })}
                  />
                  <span className="small soft wide">
                    added <Ago at={u.created_at} />
                  </span>
                  <NativeSelect
                    size="xs"
                    aria-label={`Role of ${u.name}`}
                    value={u.role}
                    data={roles}
                    onChange={(e) => change.mutate({ id: u.id, body: { role: e.currentTarget.value as User['role'] } })}
                  />
                  <ActionMenu label={`Actions for ${u.name}`}>
                    <Menu.Item onClick={() => invite.mutate(u.id)}>Create a sign-in link</Menu.Item>
                    <Menu.Item onClick={() => change.mutate({ id: u.id, body: { disabled: !u.disabled } })}>
                      {u.disabled ? 'Enable the user' : 'Disable the user'}
                    </Menu.Item>
                    <Menu.Item onClick={() => setHistory(u)}>History</Menu.Item>
                  </ActionMenu>
                </div>
              ))}
            </div>
          )
        }
      </QueryContent>
      {history && <HistoryDialog object="user" id={history.id} name={history.name} close={() => setHistory(null)} />}
      <Modal opened={link !== null} onClose={() => setLink(null)} title="One-time sign-in link" size="lg">
        {link && (
          <div className="stack">
            <p className="soft">
              Anyone with this link can sign in once. It expires <Ago at={link.expires_at} />.
            </p>
            <Code label="Copy the link">{link.url}</Code>
          </div>
        )}
      </Modal>
    </Panel>
  );
}
