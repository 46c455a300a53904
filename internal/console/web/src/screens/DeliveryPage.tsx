import { Button } from '@mantine/core';
import { Pause, Play, RotateCcw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useMe } from '../api/data';
import { type Delivery, type Endpoint, useDelivery, useEndpoints } from '../api/events';
import { can } from '../app/permissions';
import { Confirm } from '../parts/Confirm';
import { type DeliveryAction, endpointPage, may, standing, targetOf } from '../parts/deliveries';
import { Ago, Copy, Head, Panel, Tag } from '../parts/elements';
import { absolute } from '../parts/format';
import { Json } from '../parts/Json';
import { ErrorCard, Loading } from '../parts/states';
import { Timeline } from './deliveries/Timeline';
import { useDeliveryAction } from './deliveries/useDeliveryAction';
import { Verification } from './deliveries/Verification';

export default function DeliveryPage({ id }: { id: string }) {
  const delivery = useDelivery(id);
  const endpoints = useEndpoints();
  if (!delivery.data) return delivery.error ? <ErrorCard error={delivery.error} retry={() => delivery.refetch()} /> : <Loading page />;
  return <Page d={delivery.data} endpoint={endpoints.data?.find((e) => e.lane === delivery.data.endpoint)} />;
}

const acts: { act: DeliveryAction; name: string; icon: typeof Play }[] = [
  { act: 'replay', name: 'Replay', icon: RotateCcw },
  { act: 'release', name: 'Resume', icon: Play },
  { act: 'hold', name: 'Pause', icon: Pause },
  { act: 'drop', name: 'Discard', icon: Trash2 },
];

function Page({ d, endpoint }: { d: Delivery; endpoint: Endpoint | undefined }) {
  const me = useMe().data;
  const change = useDeliveryAction();
  const [asked, setAsked] = useState(false);
  const run = (action: DeliveryAction) => change.mutate({ action, which: { ids: [d.id] } }, { onSuccess: () => setAsked(false) });
  const s = standing(d, endpoint);
  const answer = d.tried?.findLast((a) => a.answer)?.answer;
  return (
    <>
      <Head
        title={<span className="mono">{d.tool}</span>}
        crumbs={[['Deliveries', '/deliveries']]}
        sub={
          <span className="row small">
            <Tag tone={s.tone}>{s.name}</Tag> <Ago at={d.created_at} /> <code>{d.id}</code> <Copy value={d.id} label="Copy the ID" />
          </span>
        }
      >
        {can(me, 'admin') &&
          acts
            .filter((a) => may(a.act, d))
            .map((a) => (
              <Button
                key={a.act}
                variant={a.act === 'replay' ? 'filled' : 'default'}
                leftSection={<a.icon size={14} />}
                disabled={change.isPending}
                onClick={() => (a.act === 'drop' ? setAsked(true) : run(a.act))}
              >
                {a.name}
              </Button>
            ))}
      </Head>
      {change.error && !asked && <ErrorCard error={change.error} />}
      {asked && (
        <Confirm title="Discard this delivery?" act="Discard" of={change} run={() => run('drop')} close={() => setAsked(false)}>
          <p>No further attempt is made, and those that wait behind it continue. You can replay it later.</p>
        </Confirm>
      )}
      <div className="columns wide-left">
        <Panel title="Timeline" pad>
          <Timeline d={d} endpoint={endpoint} />
        </Panel>
        <Panel title="Details" pad>
          <Facts d={d} />
        </Panel>
      </div>
      {d.verification && (
        <Panel title="File" pad>
          <Verification v={d.verification} />
        </Panel>
      )}
      <div className="columns">
        <Panel title="Request" pad>
          {d.arguments === undefined ? <p className="soft">No arguments.</p> : <Json value={d.arguments} />}
        </Panel>
        <Panel title="Response" pad>
          {answer === undefined ? <p className="soft">No response yet.</p> : <Json value={readable(answer)} />}
        </Panel>
      </div>
    </>
  );
}

// readable is an answer as the value that it is, where it is one.
function readable(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return answer;
  }
}

function Facts({ d }: { d: Delivery }) {
  const target = targetOf(d.endpoint);
  return (
    <dl className="facts">
      {d.event && (
        <>
          <dt>Event</dt>
          <dd>
            <Link className="link" href={`/events/${d.event}`}>
              {d.event_type || d.event}
            </Link>{' '}
            {d.source && <span className="soft">from {d.source}</span>}
          </dd>
        </>
      )}
      {d.trigger && (
        <>
          <dt>Trigger</dt>
          <dd>
            <Link className="link" href={`/triggers/${d.trigger}`}>
              {d.trigger}
            </Link>
          </dd>
        </>
      )}
      <dt>Agent</dt>
      <dd>
        {d.agent ? (
          <Link className="link" href={`/deliveries?agent=${encodeURIComponent(d.agent)}`}>
            {d.agent}
          </Link>
        ) : (
          <span className="soft">none</span>
        )}
      </dd>
      <dt>Endpoint</dt>
      <dd>
        {target.kind === 'server' ? (
          <Link className="link" href={`/servers/${target.name}`}>
            {target.name}
          </Link>
        ) : (
          <code className="wrap">{d.endpoint}</code>
        )}{' '}
        <Link className="link small" href={endpointPage(d.endpoint)}>
          status
        </Link>
      </dd>
      <dt>Order key</dt>
      <dd>{d.key ? <code className="wrap">{d.key}</code> : <span className="soft">none</span>}</dd>
      {d.dedupe_key && (
        <>
          <dt>Idempotency key</dt>
          <dd>
            <code className="wrap">{d.dedupe_key}</code>
          </dd>
        </>
      )}
      <dt>Created</dt>
      <dd>{absolute(new Date(d.created_at))}</dd>
      {d.ended_at && (
        <>
          <dt>Ended</dt>
          <dd>{absolute(new Date(d.ended_at))}</dd>
        </>
      )}
    </dl>
  );
}
