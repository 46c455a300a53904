import { Button } from '@mantine/core';
import { Waypoints } from 'lucide-react';
import { Link } from 'wouter';
import { useMe } from '../api/data';
import { type Endpoint, useEndpoints } from '../api/events';
import { can } from '../app/permissions';
import { breakers, endpointPage } from '../parts/deliveries';
import { Ago, Head, Panel, Tag } from '../parts/elements';
import { count } from '../parts/format';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { AgentEndpoints } from './endpoints/AgentEndpoints';
import { EndpointActions, type EndpointChange, useEndpointChange } from './endpoints/actions';

export default function Endpoints() {
  const me = useMe().data;
  const admin = can(me, 'admin');
  const endpoints = useEndpoints();
  const change = useEndpointChange();
  return (
    <>
      <Head
        title="Endpoints"
        sub="Delivery endpoints and their breakers. While a breaker is open, deliveries to that endpoint wait. This uses up no attempts and delays no other endpoint."
      />
      {change.error && <ErrorCard error={change.error} />}
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
                  <Row key={e.lane} e={e} change={admin ? change : undefined} />
                ))}
              </div>
            )
          }
        </QueryContent>
      </Panel>
      {admin && <AgentEndpoints />}
    </>
  );
}

function Row({ e, change }: { e: Endpoint; change: EndpointChange | undefined }) {
  const s = breakers[e.state] ?? { tone: '' as const, name: e.state, about: '' };
  const at = `/deliveries?endpoint=${encodeURIComponent(e.lane)}`;
  return (
    <section className="override" aria-label={e.lane}>
      <span className="grow" style={{ minWidth: '15rem' }}>
        <span className="row">
          <Link href={endpointPage(e.lane)} className="mono link">
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
        <Link href={at} className="link">
          {count(e.jobs - e.held)} queued
        </Link>
        ,{' '}
        {e.held > 0 ? (
          <Link href={`${at}&state=held`} className="link">
            {count(e.held)} paused
          </Link>
        ) : (
          '0 paused'
        )}
      </span>
      {change && (
        <span className="row plain">
          <EndpointActions e={e} change={change} />
          <Button component={Link} size="compact-sm" variant="default" href={`${endpointPage(e.lane)}&tab=history`}>
            History
          </Button>
        </span>
      )}
    </section>
  );
}
