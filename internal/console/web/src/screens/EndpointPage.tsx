import { Button } from '@mantine/core';
import { Link, useSearchParams } from 'wouter';
import { useMe } from '../api/data';
import { type Endpoint, useDeliveries, useEndpoints } from '../api/events';
import { useMetrics } from '../api/metrics';
import { can } from '../app/permissions';
import { CallCharts } from '../parts/Activity';
import { DeliveryCharts } from '../parts/DeliveryCharts';
import { breakers, targetOf } from '../parts/deliveries';
import { Ago, Copy, Head, Panel, Tabs, Tag } from '../parts/elements';
import { count } from '../parts/format';
import { History } from '../parts/History';
import { RangePicker } from '../parts/RangePicker';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { useRange } from '../parts/useRange';
import { DeliveryRows } from './deliveries/DeliveryRows';
import { EndpointActions, useEndpointChange } from './endpoints/actions';

// EndpointPage is a delivery endpoint: its breaker, its deliveries over time, and its changes.
export default function EndpointPage() {
  const [params] = useSearchParams();
  const name = params.get('endpoint') ?? '';
  const endpoints = useEndpoints();
  return (
    <QueryContent query={endpoints}>
      {(all) => <Page key={name} name={name} e={all.find((e) => e.lane === name) ?? { lane: name, state: 'closed', jobs: 0, held: 0 }} />}
    </QueryContent>
  );
}

function Page({ name, e }: { name: string; e: Endpoint }) {
  const me = useMe().data;
  const admin = can(me, 'admin');
  const [tab, setTab] = useParam('tab', 'activity');
  const change = useEndpointChange();
  const s = breakers[e.state] ?? { tone: '' as const, name: e.state, about: '' };
  const target = targetOf(name);
  return (
    <>
      <Head
        title={<span className="mono wrap">{name}</span>}
        crumbs={[['Endpoints', '/endpoints']]}
        sub={
          <span className="row small">
            <Tag tone={s.tone} title={s.about}>
              {s.name}
            </Tag>
            {e.changed_at && <Ago at={e.changed_at} />} {count(e.jobs - e.held)} queued, {count(e.held)} paused
            <Copy value={name} label="Copy the name" />
          </span>
        }
      >
        {admin && <EndpointActions e={e} change={change} />}
      </Head>
      {change.error && <ErrorCard error={change.error} />}
      {e.why && <p className="small wrap">{e.why}</p>}
      <Tabs
        label="Sections of the endpoint"
        now={tab}
        choose={setTab}
        tabs={[['activity', 'Activity'], ['deliveries', 'Deliveries'], ...(admin ? ([['history', 'History']] as [string, string][]) : [])]}
      />
      {tab === 'activity' && <EndpointActivity name={name} server={target.kind === 'server' ? target.name : ''} />}
      {tab === 'deliveries' && <Recent name={name} />}
      {tab === 'history' && admin && <History object="endpoint" id={name} />}
    </>
  );
}

function EndpointActivity({ name, server }: { name: string; server: string }) {
  const choice = useRange();
  const metrics = useMetrics({ by: 'server', first: server }, choice.range, { enabled: server !== '' });
  return (
    <div className="stack activity">
      <div className="row">
        <RangePicker choice={choice} />
      </div>
      <DeliveryCharts choice={choice} filter={{ endpoint: name }} calls={server ? { server } : {}} />
      {server && (
        <>
          <h2 className="small soft">All calls of {server}, from every entry point</h2>
          <CallCharts metrics={metrics} choice={choice} filter={{ server }} tokens={false} />
        </>
      )}
    </div>
  );
}

function Recent({ name }: { name: string }) {
  const pages = useDeliveries({ endpoint: name }, 20);
  return (
    <Panel
      title="Recent deliveries"
      acts={
        <Link className="link small" href={`/deliveries?${new URLSearchParams({ endpoint: name })}`}>
          View all
        </Link>
      }
    >
      <QueryContent query={{ ...pages, data: pages.all }} rows={4}>
        {(list) =>
          list.length === 0 ? (
            <Empty
              title="No deliveries yet"
              action={
                <Button component={Link} variant="default" href="/triggers">
                  Triggers
                </Button>
              }
            >
              No event led to a delivery to this endpoint.
            </Empty>
          ) : (
            <DeliveryRows list={list.slice(0, 20)} />
          )
        }
      </QueryContent>
    </Panel>
  );
}
