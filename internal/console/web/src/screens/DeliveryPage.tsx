import { Button } from '@mantine/core';
import { Pause, Play, RotateCcw, Trash2 } from 'lucide-react';
import { Link } from 'wouter';
import { useMe } from '../api/data';
import { type Delivery, type Endpoint, useDelivery, useEndpoints } from '../api/happenings';
import { can } from '../app/may';
import { Ago, Copy, Head, Panel, Tag } from '../parts/bits';
import { type Act, may, standing, targetOf } from '../parts/deliveries';
import { absolute } from '../parts/format';
import { Json } from '../parts/Json';
import { ErrorCard, Loading } from '../parts/states';
import { useAct } from './deliveries/act';
import { Timeline } from './deliveries/Timeline';
import { Verification } from './deliveries/Verification';

export default function DeliveryPage({ id }: { id: string }) {
  const delivery = useDelivery(id);
  const endpoints = useEndpoints();
  if (!delivery.data) return delivery.error ? <ErrorCard error={delivery.error} retry={() => delivery.refetch()} /> : <Loading page />;
  return <Page d={delivery.data} endpoint={endpoints.data?.find((e) => e.lane === delivery.data.endpoint)} />;
}

const acts: { act: Act; name: string; icon: typeof Play }[] = [
  { act: 'replay', name: 'Replay', icon: RotateCcw },
  { act: 'release', name: 'Release', icon: Play },
  { act: 'hold', name: 'Hold', icon: Pause },
  { act: 'drop', name: 'Drop', icon: Trash2 },
];

function Page({ d, endpoint }: { d: Delivery; endpoint: Endpoint | undefined }) {
  const me = useMe().data;
  const change = useAct();
  const s = standing(d, endpoint);
  const answer = d.tried?.findLast((a) => a.answer)?.answer;
  return (
    <>
      <Head
        title={<span className="mono">{d.tool}</span>}
        crumbs={[['Deliveries', '/deliveries']]}
        sub={
          <span className="row small">
            <Tag tone={s.tone}>{s.name}</Tag> <Ago at={d.created_at} /> <code>{d.id}</code> <Copy value={d.id} label="Copy the id" />
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
                onClick={() => change.mutate({ action: a.act, which: { ids: [d.id] } })}
              >
                {a.name}
              </Button>
            ))}
      </Head>
      {change.error && <ErrorCard error={change.error} />}
      <div className="columns wide-left">
        <Panel title="What happened" pad>
          <Timeline d={d} endpoint={endpoint} />
        </Panel>
        <Panel title="Facts" pad>
          <Facts d={d} />
        </Panel>
      </div>
      {d.verification && (
        <Panel title="Its file" pad>
          <Verification v={d.verification} />
        </Panel>
      )}
      <div className="columns">
        <Panel title="What is sent" pad>
          {d.arguments === undefined ? <p className="soft">No arguments.</p> : <Json value={d.arguments} />}
        </Panel>
        <Panel title="What came back" pad>
          {answer === undefined ? <p className="soft">Nothing yet.</p> : <Json value={readable(answer)} />}
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
          <span className="soft">it concerns none</span>
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
        <Link className="link small" href="/endpoints">
          how it stands
        </Link>
      </dd>
      <dt>In line with</dt>
      <dd>{d.key ? <code className="wrap">{d.key}</code> : <span className="soft">no others</span>}</dd>
      {d.dedupe_key && (
        <>
          <dt>Known again by</dt>
          <dd>
            <code className="wrap">{d.dedupe_key}</code>
          </dd>
        </>
      )}
      <dt>Made</dt>
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
