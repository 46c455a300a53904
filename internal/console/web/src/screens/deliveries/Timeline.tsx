import { Check, Clock, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Delivery, DeliveryAttempt, Endpoint } from '../../api/events';
import { breakers, ended, standing } from '../../parts/deliveries';
import { Ago, Tag } from '../../parts/elements';
import { absolute, span } from '../../parts/format';

// Timeline tells a delivery from its event to its end, attempt by attempt, and
// what comes next.
export function Timeline({ d, endpoint }: { d: Delivery; endpoint: Endpoint | undefined }) {
  const tried = d.tried ?? [];
  return (
    <ol className="steps" aria-label="Attempts">
      <Step mark="done" title={d.trigger ? `Created by the trigger ${d.trigger}` : 'Created'} at={d.created_at} />
      {tried.map((a, i) => (
        <Attempt key={a.n} a={a} before={tried[i - 1]} />
      ))}
      {!ended(d) && <Next d={d} endpoint={endpoint} />}
      {d.state === 'dead' && (
        <Step mark="bad" title="Failed permanently" at={d.ended_at}>
          The delivery is a dead letter. You can replay it.
        </Step>
      )}
      {d.state === 'dropped' && <Step mark="none" title="Discarded by a user" at={d.ended_at} />}
    </ol>
  );
}

function Attempt({ a, before }: { a: DeliveryAttempt; before: DeliveryAttempt | undefined }) {
  const good = a.outcome === 'delivered';
  const after = before ? Date.parse(a.begun_at) - Date.parse(before.begun_at) - before.duration_ms : undefined;
  return (
    <Step mark={good ? 'done' : 'bad'} title={good ? `Attempt ${a.n} succeeded` : `Attempt ${a.n} failed`} at={a.begun_at}>
      <span className="row" style={{ gap: '0.375rem' }}>
        {a.kind && <Tag tone="bad">{a.kind.replaceAll('_', ' ')}</Tag>}
        {a.status ? <Tag>HTTP {a.status}</Tag> : null}
        <span className="num">
          took {span(a.duration_ms * 1e6)}
          {after !== undefined && after > 0 && `, ${span(after * 1e6)} after the previous attempt`}
        </span>
        {a.call && (
          <Link className="link" href={`/calls/${a.call}`}>
            Call details
          </Link>
        )}
      </span>
      {a.error && <span style={{ display: 'block' }}>{a.error}</span>}
      {a.note && <span style={{ display: 'block' }}>{a.note}</span>}
    </Step>
  );
}

function Next({ d, endpoint }: { d: Delivery; endpoint: Endpoint | undefined }) {
  const s = standing(d, endpoint);
  const alone = endpoint && (endpoint.state === 'open' || endpoint.state === 'stopped') ? endpoint : undefined;
  if (d.state !== 'held' && alone)
    return (
      <Step
        mark="open"
        title={breakers[alone.state]?.name === 'stopped' ? 'The endpoint is stopped' : 'The breaker of its endpoint is open'}
      >
        {alone.why}
        {alone.until && alone.state === 'open' && (
          <>
            ; next test <Ago at={alone.until} />
          </>
        )}
        .{' '}
        <Link className="link" href="/endpoints">
          Endpoints
        </Link>
      </Step>
    );
  if (d.state === 'ready' && d.next_at && d.attempts > 0)
    return (
      <Step mark="open" title="Next attempt">
        <Ago at={d.next_at} />, {absolute(new Date(d.next_at))}
      </Step>
    );
  return (
    <Step mark="open" title={s.name === 'due' ? 'Due now' : s.name.charAt(0).toUpperCase() + s.name.slice(1)}>
      {s.about}
    </Step>
  );
}

type Mark = 'done' | 'bad' | 'open' | 'none';

const icons: Record<Mark, ReactNode> = {
  done: <Check size={12} strokeWidth={3} />,
  bad: <X size={12} strokeWidth={3} />,
  open: <Clock size={12} />,
  none: '–',
};

function Step({ mark, title, at, children }: { mark: Mark; title: string; at?: string | undefined; children?: ReactNode }) {
  return (
    <li>
      <span className={`mark ${mark === 'done' || mark === 'bad' ? mark : ''}`} aria-hidden>
        {icons[mark]}
      </span>
      <span className="grow">
        <span className="row" style={{ justifyContent: 'space-between' }}>
          <span style={{ fontWeight: 550 }}>{title}</span>
          {at && (
            <span className="tiny soft">
              <Ago at={at} />
            </span>
          )}
        </span>
        <span className="small soft wrap" style={{ display: 'block' }}>
          {children}
        </span>
      </span>
    </li>
  );
}
