import { Button } from '@mantine/core';
import { RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import type { Call, Schemas } from '../api/client';
import { useCall } from '../api/data';
import { useFeed } from '../api/feed';
import { Ago, Copy, Head, Panel, Status, Tag } from '../parts/bits';
import { absolute, bytes, span } from '../parts/format';
import { Json } from '../parts/Json';
import { ErrorCard, Loading } from '../parts/states';
import { doorNames, shown, who } from './Calls';

export default function CallPage({ id }: { id: string }) {
  const kept = useCall(id);
  const feed = useFeed();
  // The journal has a call at once; what was said in it follows a moment later.
  const call: Schemas['Entry'] | Call | undefined = kept.data ?? feed.calls.find((c) => c.id === id);
  if (!call) return kept.error && feed.loaded ? <ErrorCard error={kept.error} retry={() => kept.refetch()} /> : <Loading page />;
  return <Story c={call} />;
}

const why: Record<string, string> = {
  success: 'It was allowed, its arguments fit, and the server answered.',
  running: 'It was allowed, and the server is at work.',
  error: 'It was allowed and ran, and did not succeed.',
  timeout: 'It was allowed and ran, and no answer came in time; the server was told to stop.',
  canceled: 'It was allowed and ran, and the caller gave up; the server was told to stop.',
  denied: 'It was refused before the server heard of it: the caller may not.',
  limited: 'It was refused before the server heard of it: the caller had used up a limit.',
  invalid: 'It was refused before the server heard of it: its arguments do not fit the schema.',
  lapsed: 'It asked for input that never came.',
};

function Story({ c }: { c: Schemas['Entry'] | Call }) {
  const refused = ['denied', 'limited', 'invalid'].includes(c.status);
  const params = 'params' in c ? (c.params as Record<string, unknown> | undefined) : undefined;
  const result = 'result' in c ? c.result : undefined;
  const start = new Date(c.start);
  const replay = () => {
    const args = params && 'arguments' in params ? params.arguments : (params ?? {});
    sessionStorage.setItem(`junctor-args tool  ${shown(c)}`, JSON.stringify({ text: JSON.stringify(args, null, 2) }));
  };
  return (
    <>
      <Head
        title={<span className="mono">{shown(c)}</span>}
        crumbs={[['Calls', '/calls']]}
        sub={
          <span className="row small">
            <Status status={c.status} /> <Ago at={c.start} /> <code>{c.id}</code> <Copy value={c.id} label="Copy the id" />
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
            Try it again
          </Button>
        )}
      </Head>
      <div className="columns">
        <Panel title="What happened" pad>
          <ol className="steps">
            <Step done title={`${who(c)} asked`}>
              through the door {doorNames[c.door] ?? c.door}, {absolute(start)}, with {bytes(c.bytes_in)}
            </Step>
            <Step done={!refused} title={refused ? `It was refused: ${c.code ?? c.status}` : 'It was let through'}>
              {refused ? c.reason : why[c.status]}
            </Step>
            {!refused && (
              <Step
                done={c.status === 'success'}
                open={c.status === 'running'}
                title={
                  c.status === 'running' ? `${c.server} is at work` : `${c.server} ${c.status === 'success' ? 'answered' : `: ${c.status}`}`
                }
              >
                {c.reason || (c.duration_ns !== undefined ? `after ${span(c.duration_ns)}, with ${bytes(c.bytes_out ?? 0)}` : '')}
              </Step>
            )}
          </ol>
          {c.duration_ns !== undefined && !refused && (
            <div className="stack tight" style={{ marginTop: '1rem' }}>
              <div className="water">
                <i style={{ left: 0, width: '100%' }} />
              </div>
              <div className="row tiny soft num">
                <span className="grow">0</span>
                <span>{span(c.duration_ns)}</span>
              </div>
            </div>
          )}
        </Panel>
        <Panel title="Facts" pad>
          <dl className="facts">
            <dt>Caller</dt>
            <dd className="row">
              <Link className="link" href={`/calls?agent=${encodeURIComponent(who(c))}`}>
                {who(c)}
              </Link>
              <Tag>{c.issuer}</Tag>
            </dd>
            {c.user && (
              <>
                <dt>For</dt>
                <dd>
                  <code>{c.user}</code>
                </dd>
              </>
            )}
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
            <dt>What</dt>
            <dd>
              {c.kind} <code>{c.name}</code> {c.version && <Tag>{c.version}</Tag>}
            </dd>
            <dt>Began</dt>
            <dd>{absolute(start)}</dd>
            <dt>Took</dt>
            <dd>{c.duration_ns !== undefined ? span(c.duration_ns) : '…'}</dd>
            <dt>In and out</dt>
            <dd>
              {bytes(c.bytes_in)} in, {bytes(c.bytes_out ?? 0)} out
            </dd>
            {c.code && (
              <>
                <dt>Code</dt>
                <dd>
                  <code>{c.code}</code>
                </dd>
              </>
            )}
          </dl>
        </Panel>
      </div>
      <div className="columns">
        <Panel title="What was asked" pad>
          {params !== undefined ? <Json value={params} /> : <p className="soft">Not kept.</p>}
        </Panel>
        <Panel title="What came back" pad>
          {result !== undefined ? (
            <Json value={result} />
          ) : (
            <p className="soft">{c.status === 'running' ? 'Nothing yet.' : 'Nothing, or it was not kept.'}</p>
          )}
        </Panel>
      </div>
      <p className="small soft">Secrets are taken out and long texts are cut before anything is kept.</p>
    </>
  );
}

function Step({ done, open = false, title, children }: { done: boolean; open?: boolean; title: string; children?: React.ReactNode }) {
  return (
    <li>
      <span className={`mark ${done ? 'done' : open ? '' : 'bad'}`} style={{ fontSize: '0.625rem' }}>
        {done ? '✓' : open ? '…' : '✕'}
      </span>
      <span className="grow">
        <span style={{ fontWeight: 550 }}>{title}</span>
        <span className="small soft wrap" style={{ display: 'block' }}>
          {children}
        </span>
      </span>
    </li>
  );
}
