import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { type StoredEvent, type Taken, useDeliveries, useEvent } from '../api/events';
import { can } from '../app/permissions';
import { Ago, Copy, Head, Panel } from '../parts/elements';
import { absolute } from '../parts/format';
import { Json } from '../parts/Json';
import { Empty, ErrorCard, Loading, QueryContent } from '../parts/states';
import { DeliveryRows } from './deliveries/DeliveryRows';
import { SentEvent } from './events/SendEvent';

export default function EventPage({ id }: { id: string }) {
  const event = useEvent(id);
  if (event.data) return <Page e={event.data} />;
  return event.error ? <ErrorCard error={event.error} retry={() => event.refetch()} /> : <Loading page />;
}

function Page({ e }: { e: StoredEvent }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const deliveries = useDeliveries({ event: e.id });
  const ask = useMutation({
    mutationFn: () => send<Taken>('POST', `/events/${encodeURIComponent(e.id)}/replay`),
    onSettled: () => {
      void cache.invalidateQueries({ queryKey: ['events'] });
      void cache.invalidateQueries({ queryKey: ['deliveries'] });
    },
  });
  return (
    <>
      <Head
        title={e.type}
        crumbs={[['Events', '/events']]}
        sub={
          <span className="row small">
            received <Ago at={e.received_at} /> <code>{e.id}</code> <Copy value={e.id} label="Copy the ID" />
          </span>
        }
      >
        {can(me, 'admin') && (
          <Button variant="default" leftSection={<RotateCcw size={14} />} loading={ask.isPending} onClick={() => ask.mutate()}>
            Replay the event
          </Button>
        )}
      </Head>
      {ask.error && <ErrorCard error={ask.error} />}
      {ask.data && (
        <Panel pad>
          <SentEvent taken={ask.data} />
        </Panel>
      )}
      {e.faults && e.faults.length > 0 && (
        <section className="fault">
          <h3>Matching triggers could not make a call</h3>
          <ul className="small wrap" style={{ margin: '0.375rem 0 0', paddingLeft: '1.125rem' }}>
            {e.faults.map((f) => (
              <li key={f}>{f}</li>
            ))}
          </ul>
        </section>
      )}
      <Panel title="Deliveries">
        <QueryContent query={{ ...deliveries, data: deliveries.all }} rows={2}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No deliveries">
                No trigger matched, or the event waits for a batch to fill. Change or add a{' '}
                <Link className="link" href="/triggers">
                  trigger
                </Link>
                , then replay the event.
              </Empty>
            ) : (
              <DeliveryRows list={list} within="event" />
            )
          }
        </QueryContent>
      </Panel>
      <div className="columns wide-left">
        <Panel title="Data" pad>
          {e.data === undefined ? <p className="soft">No data.</p> : <Json value={e.data} />}
        </Panel>
        <Panel title="Details" pad>
          <dl className="facts">
            <dt>Source</dt>
            <dd>
              <Link className="link" href={`/events?source=${encodeURIComponent(e.source)}`}>
                {e.source}
              </Link>
            </dd>
            <dt>Type</dt>
            <dd>
              <Link className="link" href={`/events?type=${encodeURIComponent(e.type)}`}>
                {e.type}
              </Link>
            </dd>
            <dt>Agent</dt>
            <dd>
              {e.agent ? (
                <Link className="link" href={`/events?agent=${encodeURIComponent(e.agent)}`}>
                  {e.agent}
                </Link>
              ) : (
                <span className="soft">none</span>
              )}
            </dd>
            <dt>Received</dt>
            <dd>{absolute(new Date(e.received_at))}</dd>
            <dt>Idempotency key</dt>
            <dd>
              <code className="wrap">{e.dedupe_key}</code>
            </dd>
            <dt>Deliveries at once</dt>
            <dd>{e.raised}</dd>
            {e.depth ? (
              <>
                <dt>Depth</dt>
                <dd>{e.depth}</dd>
              </>
            ) : null}
          </dl>
        </Panel>
      </div>
    </>
  );
}
