import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { LogIn, LogOut } from 'lucide-react';
import { useState } from 'react';
import { type Me, type ServerDetail, send } from '../../api/client';
import { useMe, useServerLogin, useTraces } from '../../api/data';
import { can } from '../../app/permissions';
import { Confirm } from '../../parts/Confirm';
import { Ago, Panel, Tag, type Tone } from '../../parts/elements';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';
import { MyCredentials } from './MyCredentials';
import { Traces } from './Traces';

export const logsIn = (s: Pick<ServerDetail, 'auth'>) => s.auth?.type === 'oauth';
const tokens = (s: Pick<ServerDetail, 'auth'>) => logsIn(s) || s.auth?.type === 'oauth-client';
export const perUser = (s: Pick<ServerDetail, 'credentials'>) => s.credentials === 'per-user';

// hasSignIn says whether there is anything about a server that people sign in
// to, or enter credentials for.
export const hasSignIn = (s: ServerDetail) => tokens(s) || perUser(s);

// SignIn is how Junctor, and each person, is known to a server.
export function SignIn({ s }: { s: ServerDetail }) {
  const me = useMe().data;
  const traces = useTraces(s.id, tokens(s) && can(me, 'tools:call'));
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      {logsIn(s) && (
        <div className="columns">
          {perUser(s) && <Login s={s} me={me} shared={false} title="Your login" />}
          <Login s={s} me={me} shared={perUser(s)} title={perUser(s) ? 'Shared login for listing tools' : 'Shared login'} />
        </div>
      )}
      {perUser(s) && !logsIn(s) && <MyCredentials s={s} />}
      {tokens(s) && (
        <Panel title="Login log">
          {can(me, 'tools:call') ? (
            <QueryContent query={traces}>
              {(all) =>
                all.length === 0 ? (
                  <Empty title="No logins yet">Logins and token renewals appear here with their steps while the instance runs.</Empty>
                ) : (
                  <Traces all={all} />
                )
              }
            </QueryContent>
          ) : (
            <Empty title="Your role cannot see these steps" />
          )}
        </Panel>
      )}
    </div>
  );
}

const states: Record<string, [Tone, string]> = {
  none: ['warn', 'not logged in'],
  live: ['good', 'logged in'],
  ended: ['bad', 'login expired'],
};

function Login({ s, me, shared, title }: { s: ServerDetail; me: Me | undefined; shared: boolean; title: string }) {
  const cache = useQueryClient();
  const login = useServerLogin(s.id, shared, can(me, 'tools:call'));
  const path = `/servers/${s.id}/login${shared ? '?shared=true' : ''}`;
  const [asked, setAsked] = useState(false);
  const leave = useMutation({
    mutationFn: () => send('DELETE', path),
    onSuccess: () => setAsked(false),
    onSettled: () => cache.invalidateQueries({ queryKey: ['servers', s.id] }),
  });
  const mine = perUser(s) && !shared;
  return (
    <Panel title={title} pad>
      <QueryContent query={login} rows={3}>
        {(l) => (
          <div className="stack">
            <div className="row">
              <Tag tone={states[l.state]?.[0] ?? ''}>{states[l.state]?.[1] ?? l.state}</Tag>
              {l.reason && <span className="small soft">{l.reason}</span>}
            </div>
            {l.state !== 'none' && (
              <dl className="facts">
                {l.issuer && (
                  <>
                    <dt>Authorization server</dt>
                    <dd>{l.issuer}</dd>
                  </>
                )}
                <dt>Since</dt>
                <dd>
                  <Ago at={l.since} />
                </dd>
                {l.state === 'live' && (
                  <>
                    <dt>Token expires</dt>
                    <dd>
                      <Ago at={l.expires_at} />{' '}
                      <span className="soft">{l.renewable ? '(renewed automatically)' : '(requires a new login)'}</span>
                    </dd>
                  </>
                )}
                {l.scopes?.length ? (
                  <>
                    <dt>Scopes</dt>
                    <dd className="row">
                      {l.scopes.map((x) => (
                        <Tag key={x}>{x}</Tag>
                      ))}
                    </dd>
                  </>
                ) : null}
                {l.client_id && (
                  <>
                    <dt>Client registration</dt>
                    <dd>
                      <code>{l.client_id}</code>
                    </dd>
                  </>
                )}
              </dl>
            )}
            <div className="acts">
              {shared ? (
                <span className="small soft">
                  <code>junctor server login {s.id} --shared</code> starts this login.
                </span>
              ) : (
                <Button
                  component="a"
                  href={`/connect/${s.id}`}
                  target="_blank"
                  rel="noopener"
                  variant={l.state === 'live' ? 'default' : 'filled'}
                  leftSection={<LogIn size={15} />}
                >
                  {l.state === 'live' ? 'Log in again' : 'Log in'}
                </Button>
              )}
              {l.state !== 'none' && (
                <Button
                  variant="default"
                  leftSection={<LogOut size={15} />}
                  loading={leave.isPending}
                  onClick={() => (mine ? leave.mutate() : setAsked(true))}
                >
                  Log out
                </Button>
              )}
            </div>
            <p className="tiny soft">
              {mine
                ? 'Only your calls and those of your agents use this login.'
                : 'The login opens in a new tab. Tokens are stored encrypted and never shown.'}
            </p>
            {leave.error && !asked && <ErrorCard error={leave.error} />}
            {asked && (
              <Confirm title={`Log out of ${s.id}?`} act="Log out" of={leave} run={() => leave.mutate()} close={() => setAsked(false)}>
                <p>Everybody uses this login. Until somebody logs in again, calls to the server fail.</p>
              </Confirm>
            )}
          </div>
        )}
      </QueryContent>
    </Panel>
  );
}
