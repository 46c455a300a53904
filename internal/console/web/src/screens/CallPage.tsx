import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import { type Call, get, type Schemas } from '../api/client';
import { useCall, useWho } from '../api/data';
import { useFeed } from '../api/feed';
import type { View } from '../apps/api';
import { entryPointNames, shown } from '../parts/calls';
import { Ago, Copy, Head, Panel, Status, Tag } from '../parts/elements';
import { absolute, bytes, span } from '../parts/format';
import { Json } from '../parts/Json';
import { Principal, PrincipalName } from '../parts/Principal';
import { ErrorCard, Loading } from '../parts/states';
import { CallRules } from './call/CallRules';
import { CallTimeline, CallTiming } from './call/CallTimeline';
import { leaveArgs } from './playground/run';

// Why a payload is not shown to somebody who may see that the call was made.
const HIDDEN = 'Hidden. Only the caller and admins see request and response.';

// The kinds of calls that rules can be about.
const ruled = ['tool', 'resource', 'prompt', 'completion', 'subscription'];

export default function CallPage({ id }: { id: string }) {
  const kept = useCall(id);
  const feed = useFeed();
  // The journal has a call at once; what was said in it follows a moment later.
  const call: Schemas['CallDetails'] | Call | undefined = kept.data ?? feed.calls.find((c) => c.id === id);
  if (!call) return kept.error && feed.loaded ? <ErrorCard error={kept.error} retry={() => kept.refetch()} /> : <Loading page />;
  return <Page c={call} />;
}

function Page({ c }: { c: Schemas['CallDetails'] | Call }) {
  const params = 'params' in c ? (c.params as Record<string, unknown> | undefined) : undefined;
  const result = 'result' in c ? c.result : undefined;
  const hits = 'policy' in c ? (c.policy ?? []) : [];
  // Rules are explained to those who may read the payload, once the call is in the history.
  const explains = !c.restricted && c.status !== 'running' && ruled.includes(c.kind);
  const refused = ['denied', 'limited', 'invalid'].includes(c.status);
  const replay = () =>
    leaveArgs({ kind: 'tool', server: '', name: shown(c) }, params && 'arguments' in params ? params.arguments : (params ?? {}));
  return (
    <>
      <Head
        title={<span className="mono">{shown(c)}</span>}
        crumbs={[['Calls', '/calls']]}
        sub={
          <span className="row small">
            <Status status={c.status} /> <Ago at={c.start} /> <code>{c.id}</code> <Copy value={c.id} label="Copy the ID" />
          </span>
        }
      >
        {c.kind === 'tool' && (
          <Button
            component={Link}
            href={`/playground?name=${encodeURIComponent(shown(c))}`}
            variant="default"
            leftSection={<RotateCcw size={14} />}
            onClick={replay}
          >
            Try again
          </Button>
        )}
      </Head>
      <div className="columns wide-left">
        <Panel title="Timeline" pad>
          <CallTimeline c={c} />
        </Panel>
        <div className="stack" style={{ gap: '1.125rem' }}>
          <Panel title="Timing" acts={<span className="small num">{span(c.duration_ns)}</span>} pad>
            <CallTiming c={c} />
          </Panel>
          <Panel title="Details" pad>
            <Facts c={c} />
          </Panel>
        </div>
      </div>
      {explains && <CallRules id={c.id} hits={hits} />}
      <div className="columns">
        <Panel title="Request" acts={<span className="small soft">{bytes(c.bytes_in)}</span>} pad>
          {params !== undefined ? (
            <Json value={params} />
          ) : (
            <p className="soft">
              {c.restricted ? HIDDEN : refused ? 'Not stored: a refused request can contain a secret in the wrong place.' : 'Not stored.'}
            </p>
          )}
        </Panel>
        <Panel title="Response" acts={<span className="small soft">{bytes(c.bytes_out ?? 0)}</span>} pad>
          {result !== undefined ? (
            <Json value={result} />
          ) : (
            <p className="soft">{c.restricted ? HIDDEN : c.status === 'running' ? 'No response yet.' : 'Empty or not stored.'}</p>
          )}
        </Panel>
      </div>
      <p className="small soft">Secrets are removed and long texts are cut before anything is stored.</p>
    </>
  );
}

// OfView leads to what else a View did, and to its App while it is open.
function OfView({ id }: { id: string }) {
  const open = useQuery({
    queryKey: ['views', id],
    queryFn: ({ signal }) => get<View>(`/views/${encodeURIComponent(id)}`, signal),
    retry: false,
  });
  return (
    <>
      <dt>App view</dt>
      <dd className="row">
        <Link className="link" href={`/calls?view=${encodeURIComponent(id)}`}>
          <code>{id.slice(0, 8)}</code>
        </Link>
        {open.data ? (
          <Link className="link" href={`/apps/${encodeURIComponent(open.data.name)}`}>
            {open.data.title || open.data.name}
          </Link>
        ) : (
          open.error && <span className="soft small">closed</span>
        )}
      </dd>
    </>
  );
}

function Facts({ c }: { c: Call }) {
  const name = useWho();
  return (
    <dl className="facts">
      <dt>Caller</dt>
      <dd className="row">
        <PrincipalName issuer={c.issuer} subject={c.subject} agent={c.agent} />
        <Tag>{c.issuer}</Tag>
        {!c.agent && name(c) !== c.subject && c.issuer !== 'local' && (
          <span className="row plain tiny soft">
            <code>{c.subject}</code> <Copy value={c.subject} label="Copy the ID of the caller" />
          </span>
        )}
        <Link className="link small" href={`/calls?${c.agent ? 'agent' : 'caller'}=${encodeURIComponent(c.agent || c.subject)}`}>
          View calls
        </Link>
      </dd>
      {c.user && (
        <>
          <dt>User</dt>
          <dd>
            <Principal id={`user:${c.user}`} />
          </dd>
        </>
      )}
      <dt>Entry point</dt>
      <dd>{entryPointNames[c.entry_point] ?? c.entry_point}</dd>
      {c.view && <OfView id={c.view} />}
      <dt>Server</dt>
      <dd>
        {c.server ? (
          <Link className="link" href={`/servers/${c.server}`}>
            {c.server}
          </Link>
        ) : (
          '–'
        )}
      </dd>
      <dt>Called</dt>
      <dd>
        {c.kind} <code>{c.name}</code> {c.version && <Tag>{c.version}</Tag>}
      </dd>
      <dt>Started</dt>
      <dd>{absolute(new Date(c.start))}</dd>
      {c.code && (
        <>
          <dt>Code</dt>
          <dd>
            <code>{c.code}</code>
          </dd>
        </>
      )}
    </dl>
  );
}
