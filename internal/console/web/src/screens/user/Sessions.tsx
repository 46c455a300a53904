import { Button } from '@mantine/core';
import { LogIn, ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { type Consent, type Login, type User, useAction } from '../../api/admin';
import { send } from '../../api/client';
import { useMe } from '../../api/data';
import { useListPages } from '../../api/lists';
import { can } from '../../app/permissions';
import { Confirm } from '../../parts/Confirm';
import { Ago, Panel, Scroll, Tag } from '../../parts/elements';
import { HistoryDialog } from '../../parts/History';
import { NextPage } from '../../parts/NextPage';
import { Principal } from '../../parts/Principal';
import { SortedHeading } from '../../parts/SortedHeading';
import { Empty, QueryContent } from '../../parts/states';
import { useParam } from '../../parts/url';
import { SignOut } from './dialogs';

// Sessions lists who is signed in: browsers, and programs that a user allowed to act for
// them. It has those of one user, or those that the person may see: admins all, others
// their own.
export function Sessions({ user }: { user?: User }) {
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      <Logins {...(user ? { user } : {})} />
      <Consents {...(user ? { user } : {})} />
    </div>
  );
}

const ways: Record<string, string> = { link: 'Sign-in link', password: 'Password' };

function Logins({ user }: { user?: User }) {
  const me = useMe().data;
  const [sort, setSort] = useParam('sessions', '-last_used_at');
  const logins = useListPages<Login>('/logins', { user: user?.id, sort }, 10_000);
  const [all, setAll] = useState(false);
  const [ending, setEnding] = useState<Login | null>(null);
  const end = useAction((id: string) => send('DELETE', `/logins/${encodeURIComponent(id)}`), {
    lists: ['logins'],
    done: () => setEnding(null),
  });
  const named = !user && can(me, 'admin');
  // Whose sessions the button ends: not those of everybody.
  const subject = user ?? (named ? undefined : me?.person);
  const others = logins.all?.some((l) => l.id !== me?.login) ?? false;
  return (
    <>
      <Panel
        title="Browser sessions"
        acts={
          subject && (
            <Button size="compact-sm" variant="default" disabled={!others} onClick={() => setAll(true)}>
              {subject.id === me?.user ? 'Sign out all other sessions' : 'Sign out everywhere'}
            </Button>
          )
        }
      >
        {ending && (
          <Confirm
            title="End this session?"
            act="End session"
            of={end}
            run={() => end.mutate(ending.id)}
            close={() => {
              end.reset();
              setEnding(null);
            }}
          >
            <p>The browser that uses it is signed out at once, and what is not saved there is lost.</p>
          </Confirm>
        )}
        <QueryContent query={{ ...logins, data: logins.all }}>
          {(list) =>
            list.length === 0 ? (
              <Empty icon={<LogIn size={28} strokeWidth={1.5} aria-hidden />} title="No browser sessions">
                A session begins when a user signs in to the console. It ends after 12 hours without use, and after 30 days in any case.
              </Empty>
            ) : (
              <Scroll label="Browser sessions">
                <table className="list">
                  <thead>
                    <tr>
                      {named && <th>User</th>}
                      <th>Signed in with</th>
                      <SortedHeading name="Started" by="created_at" className="wide" sort={sort} setSort={setSort} />
                      <SortedHeading name="Last used" by="last_used_at" sort={sort} setSort={setSort} />
                      <SortedHeading name="Expires" by="expires_at" className="wide" sort={sort} setSort={setSort} />
                      <th aria-label="Actions" />
                    </tr>
                  </thead>
                  <tbody>
                    {list.map((l) => (
                      <tr key={l.id}>
                        {named && (
                          <td>
                            <Principal id={`user:${l.user}`} />
                          </td>
                        )}
                        <td className="cut">{ways[l.how] ?? l.how}</td>
                        <td className="wide soft">
                          <Ago at={l.created_at} />
                        </td>
                        <td className="soft">
                          <Ago at={l.last_used_at ?? l.created_at} />
                        </td>
                        <td className="wide soft">
                          <Ago at={l.expires_at} />
                        </td>
                        <td className="right">
                          {l.id === me?.login ? (
                            <Tag tone="act">this session</Tag>
                          ) : (
                            <Button size="compact-xs" variant="subtle" color="red" onClick={() => setEnding(l)}>
                              End session
                            </Button>
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
        {logins.hasNextPage && (
          <div className="pad">
            <NextPage pages={logins} />
          </div>
        )}
      </Panel>
      {all && subject && <SignOut id={subject.id} name={subject.name} me={me} close={() => setAll(false)} />}
    </>
  );
}

function Consents({ user }: { user?: User }) {
  const me = useMe().data;
  const consents = useListPages<Consent>('/consents', { user: user?.id, sort: 'client_name' }, 10_000);
  const [asked, setAsked] = useState<Consent | null>(null);
  const [history, setHistory] = useState<Consent | null>(null);
  const revoke = useAction((c: Consent) => send('DELETE', `/consents/${encodeURIComponent(c.id)}`), {
    lists: ['consents'],
    done: () => setAsked(null),
  });
  const named = !user && can(me, 'admin');
  return (
    <>
      <Panel title="OAuth consents">
        <QueryContent query={{ ...consents, data: consents.all }}>
          {(list) =>
            list.length === 0 ? (
              <Empty icon={<ShieldCheck size={28} strokeWidth={1.5} aria-hidden />} title="No OAuth consents">
                MCP clients that log in with OAuth appear here, once a user has allowed them to act for the user.
              </Empty>
            ) : (
              <Scroll label="OAuth consents">
                <table className="list">
                  <thead>
                    <tr>
                      <th>Program</th>
                      {named && <th>User</th>}
                      <th className="wide">Endpoint</th>
                      <th className="wide">Scopes</th>
                      <th>Last used</th>
                      <th aria-label="Actions" />
                    </tr>
                  </thead>
                  <tbody>
                    {list.map((c) => (
                      <tr key={c.id}>
                        <td>
                          <b>{c.client_name || c.client}</b>
                          <div className="tiny soft mono cut">{c.client}</div>
                        </td>
                        {named && (
                          <td>
                            <Principal id={`user:${c.user}`} />
                          </td>
                        )}
                        <td className="wide mono tiny cut">{c.resource}</td>
                        <td className="wide tiny soft">{c.scopes.join(' ')}</td>
                        <td className="soft">
                          <Ago at={c.last_used_at} />
                        </td>
                        <td className="right">
                          {can(me, 'admin') && (
                            <Button size="compact-xs" variant="subtle" onClick={() => setHistory(c)}>
                              History
                            </Button>
                          )}
                          <Button size="compact-xs" variant="subtle" color="red" onClick={() => setAsked(c)}>
                            Revoke
                          </Button>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </QueryContent>
        {consents.hasNextPage && (
          <div className="pad">
            <NextPage pages={consents} />
          </div>
        )}
      </Panel>
      {asked && (
        <Confirm
          title={`Revoke the consent for ${asked.client_name || asked.client}?`}
          act="Revoke consent"
          of={revoke}
          run={() => revoke.mutate(asked)}
          close={() => setAsked(null)}
        >
          <p>The program’s tokens stop working at once. To use it again, the user has to log in and consent.</p>
        </Confirm>
      )}
      {history && (
        <HistoryDialog object="consent" id={history.id} name={history.client_name || history.client} close={() => setHistory(null)} />
      )}
    </>
  );
}
