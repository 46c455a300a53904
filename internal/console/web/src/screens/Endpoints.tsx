import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Waypoints } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { type Endpoint, useEndpoints } from '../api/events';
import { can } from '../app/permissions';
import { breakers } from '../parts/deliveries';
import { Ago, Head, Panel, Tag } from '../parts/elements';
import { count } from '../parts/format';
import { HistoryDialog } from '../parts/History';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { useDeliveryAction } from './deliveries/useDeliveryAction';
import { AgentEndpoints } from './endpoints/AgentEndpoints';

export default function Endpoints() {
  const me = useMe().data;
  const admin = can(me, 'admin');
  const endpoints = useEndpoints();
  const cache = useQueryClient();
  const [history, setHistory] = useState('');
  const switched = useMutation({
    mutationFn: (c: { lane: string; to: 'start' | 'stop' }) => send('POST', `/endpoints/${c.to}`, { endpoint: c.lane }),
    onSettled: () => Promise.all(['endpoints', 'deliveries'].map((k) => cache.invalidateQueries({ queryKey: [k] }))),
  });
  const release = useDeliveryAction();
  const error = switched.error ?? release.error;
  return (
    <>
      <Head
        title="Endpoints"
        sub="Delivery endpoints and their breakers. While a breaker is open, deliveries to that endpoint wait. This uses up no attempts and delays no other endpoint."
      />
      {error && <ErrorCard error={error} />}
      <Panel>
        <QueryContent query={endpoints}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<Waypoints size={28} strokeWidth={1.5} aria-hidden />} title="No waiting deliveries">
                All endpoints are healthy, and everything was delivered.
              </Empty>
            ) : (
              <div className="rows">
                {all.map((e) => (
                  <Row
                    key={e.lane}
                    e={e}
                    admin={admin}
                    change={(to) => switched.mutate({ lane: e.lane, to })}
                    showHistory={() => setHistory(e.lane)}
                    release={() => release.mutate({ action: 'release', which: { endpoint: e.lane, state: 'held' } })}
                  />
                ))}
              </div>
            )
          }
        </QueryContent>
      </Panel>
      {admin && <AgentEndpoints />}
      {history && <HistoryDialog object="endpoint" id={history} name={history} close={() => setHistory('')} />}
    </>
  );
}

function Row({
  e,
  admin,
  change,
  release,
  showHistory,
}: {
  e: Endpoint;
  admin: boolean;
  change: (to: 'start' | 'stop') => void;
  release: () => void;
  showHistory: () => void;
}) {
  const s = breakers[e.state] ?? { tone: '' as const, name: e.state, about: '' };
  const at = `/deliveries?endpoint=${encodeURIComponent(e.lane)}`;
  const idle = e.state === 'open' || e.state === 'stopped';
  return (
    <section className="override" aria-label={e.lane}>
      <span className="grow" style={{ minWidth: '15rem' }}>
        <span className="row">
          <Link href={at} className="mono link">
            {e.lane}
          </Link>
          <Tag tone={s.tone} title={s.about}>
            {s.name}
          </Tag>
          {e.state === 'open' && e.until && (
            <span className="tiny soft">
              next test <Ago at={e.until} />
            </span>
          )}
        </span>
        <span className="tiny soft cut" style={{ display: 'block' }} title={e.why}>
          {e.why}
          {e.why && e.changed_at && (
            <>
              , <Ago at={e.changed_at} />
            </>
          )}
        </span>
      </span>
      <span className="small num">
        {count(e.jobs - e.held)} waiting,{' '}
        {e.held > 0 ? (
          <Link href={`${at}&state=held`} className="link">
            {count(e.held)} held
          </Link>
        ) : (
          '0 held'
        )}
      </span>
      {admin && (
        <span className="row plain">
          {idle && (
            <Button size="compact-sm" variant="default" onClick={() => change('start')}>
              Start
            </Button>
          )}
          {e.state !== 'stopped' && (
            <Button size="compact-sm" variant="default" onClick={() => change('stop')}>
              Stop
            </Button>
          )}
          <Button size="compact-sm" variant="default" disabled={e.held === 0} onClick={release}>
            Release
          </Button>
          <Button size="compact-sm" variant="default" onClick={showHistory}>
            History
          </Button>
        </span>
      )}
    </section>
  );
}
