import { Button, Menu } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { User } from '../api/admin';
import type { Key } from '../api/client';
import { useListPages, useTotal } from '../api/lists';
import { ActionMenu } from '../parts/ActionMenu';
import { Ago, Panel, Scroll, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { NextPage } from '../parts/NextPage';
import { Principal } from '../parts/Principal';
import { SortedHeading } from '../parts/SortedHeading';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { RevokeKey, RotateKey } from './key/dialogs';
import { NewKey } from './key/NewKey';
import { KeyState, keyIsLive } from './key/state';

// KeyList lists keys, and creates, rotates and revokes them: those of a user or an agent, or
// all that the person may manage.
export function KeyList({ user, agent }: { user?: User; agent?: string }) {
  const [q, setQ] = useParam('q');
  const [sort, setSort] = useParam('sort', '-created_at');
  const [text] = useDebouncedValue(q, 150);
  const of = { user: user?.id, agent };
  const keys = useListPages<Key>('/keys', { ...of, q: text, sort });
  const total = useTotal('/keys', of, true, 30_000).data ?? 0;
  const [making, { open, close }] = useDisclosure();
  const [dialog, setDialog] = useState<{ act: 'rotate' | 'revoke'; k: Key } | null>(null);
  const [, navigate] = useLocation();
  const owned = !user && !agent;
  return (
    <>
      <div className="row filters">
        {total > 6 || q ? (
          <FilterInput
            label="Filter keys"
            placeholder="Purpose, ID, agent or beginning of the key"
            minWidth="12rem"
            value={q}
            change={setQ}
          />
        ) : (
          <span className="grow" />
        )}
        <Button leftSection={<Plus size={15} />} onClick={open}>
          Create a key
        </Button>
      </div>
      <Panel>
        <QueryContent query={{ ...keys, data: keys.all }}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<KeyRound size={28} strokeWidth={1.5} aria-hidden />} title={text ? 'No key matches' : 'No keys'} />
            ) : (
              <Scroll label="Keys">
                <table className="list">
                  <thead>
                    <tr>
                      <SortedHeading name="Key" by="name" sort={sort} setSort={setSort} />
                      {owned && <th>Owner</th>}
                      <th className="wide">Scopes</th>
                      <SortedHeading name="Last used" by="last_used_at" className="wide" sort={sort} setSort={setSort} />
                      <SortedHeading name="Expires" by="expires_at" className="wide" sort={sort} setSort={setSort} />
                      <SortedHeading name="Created" by="created_at" className="wide" sort={sort} setSort={setSort} />
                      <th aria-label="Actions" />
                    </tr>
                  </thead>
                  <tbody>
                    {all.map((k) => (
                      <tr key={k.id} className="on" onClick={() => navigate(`/keys/${k.id}`)}>
                        <td>
                          <Link href={`/keys/${k.id}`} style={{ fontWeight: 550 }} onClick={(e) => e.stopPropagation()}>
                            {k.name}
                          </Link>{' '}
                          <KeyState k={k} />
                          {k.prefix && <div className="tiny soft mono">{k.prefix}…</div>}
                        </td>
                        {owned && (
                          <td className="cut">
                            <KeyOwner k={k} />
                          </td>
                        )}
                        <td className="wide tiny soft">{k.scopes.join(' ')}</td>
                        <td className="wide soft">
                          <Ago at={k.last_used_at} />
                        </td>
                        <td className="wide soft">
                          <Ago at={k.expires_at} />
                        </td>
                        <td className="wide soft">
                          <Ago at={k.created_at} />
                        </td>
                        {/* biome-ignore lint/a11y/useKeyWithClickEvents: it only keeps the click from the row */}
                        <td className="right" onClick={(e) => e.stopPropagation()}>
                          {keyIsLive(k) && (
                            <ActionMenu label={`Actions for ${k.name}`}>
                              <Menu.Item onClick={() => setDialog({ act: 'rotate', k })}>Rotate key</Menu.Item>
                              <Menu.Item color="red" onClick={() => setDialog({ act: 'revoke', k })}>
                                Revoke key
                              </Menu.Item>
                            </ActionMenu>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </QueryContent>
      </Panel>
      <NextPage pages={keys} near />
      {making && <NewKey {...(user ? { user } : {})} {...(agent ? { agent } : {})} close={close} />}
      {dialog?.act === 'rotate' && <RotateKey k={dialog.k} close={() => setDialog(null)} />}
      {dialog?.act === 'revoke' && <RevokeKey k={dialog.k} close={() => setDialog(null)} />}
    </>
  );
}

// KeyOwner names the user or the agent that a key belongs to.
export function KeyOwner({ k }: { k: Key }) {
  if (k.agent) return <Principal id={`agent:${k.agent}`} />;
  if (k.user) return <Principal id={`user:${k.user}`} />;
  return <Tag>service</Tag>;
}
