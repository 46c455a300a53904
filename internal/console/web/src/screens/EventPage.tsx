import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { type Happening, type Taken, useDeliveries, useEvent } from '../api/happenings';
import { can } from '../app/may';
import { Ago, Copy, Head, Panel } from '../parts/bits';
import { absolute } from '../parts/format';
import { Json } from '../parts/Json';
import { Empty, ErrorCard, Loading, Shown } from '../parts/states';
import { DeliveryRows } from './deliveries/Rows';
import { Became } from './events/SendEvent';

export default function EventPage({ id }: { id: string }) {
  const event = useEvent(id);
  if (event.data) return <Page e={event.data} />;
  return event.error ? <ErrorCard error={event.error} retry={() => event.refetch()} /> : <Loading page />;
}

function Page({ e }: { e: Happening }) {
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
            taken <Ago at={e.received_at} /> <code>{e.id}</code> <Copy value={e.id} label="Copy the id" />
          </span>
        }
      >
        {can(me, 'admin') && (
          <Button variant="default" leftSection={<RotateCcw size={14} />} loading={ask.isPending} onClick={() => ask.mutate()}>
            Ask the triggers again
          </Button>
        )}
      </Head>
      {ask.error && <ErrorCard error={ask.error} />}
      {ask.data && (
        <Panel pad>
          <Became taken={ask.data} />
        </Panel>
      )}
      {e.faults && e.faults.length > 0 && (
        <section className="fault">
          <h3>Triggers that are for it could make no call of it</h3>
          <ul className="small wrap" style={{ margin: '0.375rem 0 0', paddingLeft: '1.125rem' }}>
            {e.faults.map((f) => (
              <li key={f}>{f}</li>
            ))}
          </ul>
        </section>
      )}
      <Panel title="What followed from it">
        <Shown query={{ ...deliveries, data: deliveries.all }} rows={2}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="Nothing">
                No trigger was for it, or it waits for others to go out with. Change or add a{' '}
                <Link className="link" href="/triggers">
                  trigger
                </Link>
                , and ask them again.
              </Empty>
            ) : (
              <DeliveryRows list={list} within="event" />
            )
          }
        </Shown>
      </Panel>
      <div className="columns wide-left">
        <Panel title="Data" pad>
          {e.data === undefined ? <p className="soft">It has none.</p> : <Json value={e.data} />}
        </Panel>
        <Panel title="Facts" pad>
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
                <span className="soft">it concerns none</span>
              )}
            </dd>
            <dt>Taken</dt>
            <dd>{absolute(new Date(e.received_at))}</dd>
            <dt>Known again by</dt>
            <dd>
              <code className="wrap">{e.dedupe_key}</code>
            </dd>
            <dt>Led to at once</dt>
            <dd>{e.raised}</dd>
            {e.depth ? (
              <>
                <dt>Answers before it</dt>
                <dd>{e.depth}</dd>
              </>
            ) : null}
          </dl>
        </Panel>
      </div>
    </>
  );
}
