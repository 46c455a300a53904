import { Button, Menu, Modal, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { type Key, type Schemas, send } from '../api/client';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { ActionMenu } from '../parts/ActionMenu';
import { Ago, Copy, Tag } from '../parts/elements';
import { HistoryDialog } from '../parts/History';
import { Empty, ErrorCard } from '../parts/states';

type Token = Schemas['CreatedKey'];

// KeyRows lists keys, and makes, rotates and revokes them. A token is shown
// once.
export function KeyRows({ keys, agent, scopes }: { keys: Key[]; agent?: string; scopes?: Key['scopes'] }) {
  const cache = useQueryClient();
  const [name, setName] = useState('');
  const me = useMe().data;
  const [history, setHistory] = useState<Key | null>(null);
  const [token, setToken] = useState<Token | null>(null);
  const settled = { onSettled: () => cache.invalidateQueries({ queryKey: ['keys'] }) };
  const make = useMutation({
    mutationFn: () => send<Token>('POST', '/keys', { name, scopes: scopes ?? ['tools:read', 'tools:call'], ...(agent ? { agent } : {}) }),
    onSuccess: (t) => {
      setToken(t);
      setName('');
    },
    ...settled,
  });
  const rotate = useMutation({
    mutationFn: (id: string) => send<Token>('POST', `/keys/${id}/rotate`, { grace_seconds: 600 }),
    onSuccess: setToken,
    ...settled,
  });
  const revoke = useMutation({ mutationFn: (id: string) => send('DELETE', `/keys/${id}`), ...settled });
  const error = make.error ?? rotate.error ?? revoke.error;
  return (
    <>
      <form
        className="pad row"
        style={{ borderBottom: '1px solid var(--line-soft)' }}
        onSubmit={(e) => {
          e.preventDefault();
          if (name) make.mutate();
        }}
      >
        <TextInput
          className="grow"
          placeholder="Purpose of the key"
          aria-label="Purpose of the key"
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
        />
        <Button type="submit" disabled={!name} loading={make.isPending} leftSection={<Plus size={15} />}>
          Create a key
        </Button>
      </form>
      {error && (
        <div className="pad">
          <ErrorCard error={error} />
        </div>
      )}
      {keys.length === 0 ? (
        <Empty title="No keys" />
      ) : (
        <div className="rows">
          {keys.map((k) => (
            <div key={k.id}>
              <span className="grow">
                <span className="row">
                  <b>{k.name}</b> <code className="tiny soft">{k.prefix}…</code>
                  {k.revoked_at && !k.revoked_at.startsWith('0001') && <Tag tone="bad">revoked</Tag>}
                  {k.agent && !agent && <Tag tone="act">{k.agent}</Tag>}
                </span>
                <span className="tiny soft cut" style={{ display: 'block' }}>
                  {k.scopes.join(' ')}
                </span>
              </span>
              <span className="small soft wide">
                last used <Ago at={k.last_used_at} />
              </span>
              <ActionMenu label={`Actions for ${k.name}`}>
                <Menu.Item onClick={() => rotate.mutate(k.id)}>Rotate: the old token works for 10 more minutes</Menu.Item>
                <Menu.Item color="red" onClick={() => revoke.mutate(k.id)}>
                  Revoke now
                </Menu.Item>
                {can(me, 'admin') && <Menu.Item onClick={() => setHistory(k)}>History</Menu.Item>}
              </ActionMenu>
            </div>
          ))}
        </div>
      )}
      {history && <HistoryDialog object="key" id={history.id} name={history.name} close={() => setHistory(null)} />}
      <Modal opened={token !== null} onClose={() => setToken(null)} title="Copy the key now: it is shown only once" size="lg">
        {token && (
          <div className="stack">
            <div className="code">
              <pre style={{ paddingRight: '2.5rem' }}>{token.key}</pre>
              <div className="acts">
                <Copy value={token.key} label="Copy the key" />
              </div>
            </div>
            <Button onClick={() => setToken(null)}>I saved the key</Button>
          </div>
        )}
      </Modal>
    </>
  );
}
