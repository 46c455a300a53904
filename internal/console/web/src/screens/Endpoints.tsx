import { ActionIcon, Button, Menu } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Ellipsis, Waypoints } from 'lucide-react';
import { Link } from 'wouter';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { type Endpoint, useEndpoints } from '../api/happenings';
import { can } from '../app/may';
import { Ago, Head, Panel, Scroll, Tag } from '../parts/bits';
import { breakers } from '../parts/deliveries';
import { count } from '../parts/format';
import { Empty, ErrorCard, Shown } from '../parts/states';
import { useAct } from './deliveries/act';
import { AgentEndpoints } from './endpoints/AgentEndpoints';

export default function Endpoints() {
  const me = useMe().data;
  const admin = can(me, 'admin');
  const endpoints = useEndpoints();
  const cache = useQueryClient();
  const switched = useMutation({
    mutationFn: (c: { lane: string; to: 'start' | 'stop' }) => send('POST', `/endpoints/${c.to}`, { endpoint: c.lane }),
    onSettled: () => Promise.all(['endpoints', 'deliveries'].map((k) => cache.invalidateQueries({ queryKey: [k] }))),
  });
  const release = useAct();
  const error = switched.error ?? release.error;
  return (
    <>
      <Head
        title="Endpoints"
        sub="Where deliveries go. One that fails is left alone for a while, and what would go there is held: no attempt is lost, and no other endpoint waits."
      />
      {error && <ErrorCard error={error} />}
      <Panel>
        <Shown query={endpoints}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<Waypoints size={28} strokeWidth={1.5} aria-hidden />} title="Nothing waits">
                Every endpoint is in order, and everything was delivered.
              </Empty>
            ) : (
              <Scroll label="Endpoints">
                <table className="list">
                  <thead>
                    <tr>
                      <th>Endpoint</th>
                      <th>State</th>
                      <th className="right">Waiting</th>
                      <th className="right">Held</th>
                      <th className="wide">Why</th>
                      <th className="right wide">Since</th>
                      {admin && <th className="right">&nbsp;</th>}
                    </tr>
                  </thead>
                  <tbody>
                    {all.map((e) => (
                      <Row
                        key={e.lane}
                        e={e}
                        admin={admin}
                        change={(to) => switched.mutate({ lane: e.lane, to })}
                        release={() => release.mutate({ action: 'release', which: { endpoint: e.lane, state: 'held' } })}
                      />
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </Shown>
      </Panel>
      {admin && <AgentEndpoints />}
    </>
  );
}

function Row({ e, admin, change, release }: { e: Endpoint; admin: boolean; change: (to: 'start' | 'stop') => void; release: () => void }) {
  const s = breakers[e.state] ?? { tone: '' as const, name: e.state, about: '' };
  const at = `/deliveries?endpoint=${encodeURIComponent(e.lane)}`;
  const idle = e.state === 'open' || e.state === 'stopped';
  return (
    <tr>
      <td className="cut">
        <Link href={at} className="mono link">
          {e.lane}
        </Link>
      </td>
      <td>
        <Tag tone={s.tone} title={s.about}>
          {s.name}
        </Tag>
        {e.state === 'open' && e.until && (
          <div className="tiny soft">
            tried <Ago at={e.until} />
          </div>
        )}
      </td>
      <td className="right num">{count(e.jobs - e.held)}</td>
      <td className="right num">
        {e.held > 0 ? (
          <Link href={`${at}&state=held`} className="link">
            {count(e.held)}
          </Link>
        ) : (
          0
        )}
      </td>
      <td className="wide tiny soft cut" title={e.why}>
        {e.why}
      </td>
      <td className="right wide soft">{e.changed_at && <Ago at={e.changed_at} />}</td>
      {admin && (
        <td className="right">
          <span className="row plain" style={{ justifyContent: 'flex-end' }}>
            {idle && (
              <Button size="compact-sm" variant="default" onClick={() => change('start')}>
                Start
              </Button>
            )}
            {!idle && (
              <Button size="compact-sm" variant="default" onClick={() => change('stop')}>
                Stop
              </Button>
            )}
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon aria-label={`What to do with ${e.lane}`}>
                  <Ellipsis size={16} />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item disabled={e.held === 0} onClick={release}>
                  Release what is held
                </Menu.Item>
                {idle && e.state === 'open' && (
                  <Menu.Item onClick={() => change('stop')}>Leave it alone until somebody starts it</Menu.Item>
                )}
                <Menu.Item component={Link} href={at}>
                  Its deliveries
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </span>
        </td>
      )}
    </tr>
  );
}
