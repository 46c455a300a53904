import { Check, CircleAlert, CircleHelp, Info, LogIn, TriangleAlert } from 'lucide-react';
import { Link } from 'wouter';
import { type Attention, type Severity, useAttention } from '../api/attention';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { Ago, Panel } from './elements';
import { Empty, ErrorCard, Loading } from './states';

export const severityNames: Record<Severity, string> = { critical: 'Critical', warning: 'Warning', info: 'Info' };

export function SeverityIcon({ severity, size = 16 }: { severity: Severity; size?: number }) {
  const label = severityNames[severity];
  if (severity === 'critical') return <CircleAlert size={size} color="var(--bad)" aria-label={label} role="img" />;
  if (severity === 'warning') return <TriangleAlert size={size} color="var(--warn)" aria-label={label} role="img" />;
  return <Info size={size} color="var(--soft)" aria-label={label} role="img" />;
}

// AttentionSummary lists the most urgent items. Users who may not read the list see only what
// they have to do themselves.
export function AttentionSummary({ most = 8 }: { most?: number }) {
  const a = useAttention();
  const me = useMe().data;
  if (!can(me, 'audit:read') && a.credentials.length === 0) return null;
  const items = a.items.slice(0, most);
  const credentials = a.credentials.slice(0, most - items.length);
  return (
    <Panel
      title="Needs attention"
      acts={
        <Link href="/attention" className="link small">
          View all{a.total > items.length + credentials.length ? ` ${a.total}` : ''}
        </Link>
      }
    >
      {a.error ? (
        <div className="pad">
          <ErrorCard error={a.error} />
        </div>
      ) : a.total > 0 ? (
        <div className="rows">
          {items.map((i) => (
            <Link key={i.id} href={i.console}>
              <SeverityIcon severity={i.severity} />
              <span className="grow cut small">
                <b>{i.object.name}</b> {i.problem}
              </span>
              <span className="small soft">
                <Ago at={i.since} />
              </span>
            </Link>
          ))}
          {credentials.map((c) => (
            <Link key={c.server} href={`/servers/${c.server}?tab=sign-in`}>
              <LogIn size={16} color="var(--warn)" role="img" aria-label="Warning" />
              <span className="grow cut small">
                <b>{c.server}</b> {c.problem || 'requires your credentials'}
              </span>
            </Link>
          ))}
        </div>
      ) : (
        <AllIsWell a={a} />
      )}
    </Panel>
  );
}

// AllIsWell says that nothing needs attention, only if everything was checked.
export function AllIsWell({ a }: { a: Attention }) {
  if (a.healthy === undefined) return <Loading rows={3} />;
  if (!a.healthy)
    return (
      <Empty icon={<CircleHelp size={28} strokeWidth={1.5} aria-hidden />} title="Not everything is checked">
        The list is empty, but some checks are missing.
      </Empty>
    );
  return (
    <Empty icon={<Check size={28} strokeWidth={1.5} color="var(--good)" aria-hidden />} title="All is well">
      Servers, deliveries, keys and approvals were checked{a.checkedAt ? ' ' : ''}
      {a.checkedAt && <Ago at={a.checkedAt} />}.
    </Empty>
  );
}
