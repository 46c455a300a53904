import { Button, NativeSelect } from '@mantine/core';
import { Pause, Play, X } from 'lucide-react';
import { memo, useMemo, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Call } from '../api/client';
import { useWho } from '../api/data';
import { useFeed } from '../api/feed';
import { entryPointNames, entryPoints, shown, statuses, who } from '../parts/calls';
import { Head, Panel, Status } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { absolute, clock, count, span } from '../parts/format';
import { matches } from '../parts/search';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';
import { Virtual } from '../parts/Virtual';

const height = 42;

export default function Calls() {
  const feed = useFeed();
  const name = useWho();
  const [params, setParams] = useSearchParams();
  const [q, setQ] = useParam('q');
  const [status, setStatus] = useParam('status');
  const [entryPoint, setEntryPoint] = useParam('entry_point');
  const [server, setServer] = useParam('server');
  const [agent, setAgent] = useParam('agent');
  const [view, setView] = useParam('view');
  const [paused, setPaused] = useState(false);
  const held = useRef<readonly Call[]>([]);
  if (!paused) held.current = feed.calls;
  const calls = held.current;
  const servers = useMemo(() => [...new Set(calls.map((c) => c.server).filter((s): s is string => !!s))].sort(), [calls]);
  const list = useMemo(
    () =>
      calls.filter(
        (c) =>
          (!status || c.status === status) &&
          (!entryPoint || c.entry_point === entryPoint) &&
          (!server || c.server === server) &&
          (!agent || who(c) === agent) &&
          (!view || c.view === view) &&
          matches(q, shown(c), who(c), name(c), c.reason, c.id),
      ),
    [calls, q, status, entryPoint, server, agent, view, name],
  );
  const waiting = paused ? feed.calls.findIndex((c) => c.id === calls[0]?.id) : 0;
  const filtered = [...params.keys()].length > 0;

  return (
    <>
      <Head title="Calls" sub="Every call as it is made, from every entry point, including refused calls.">
        <span className="row plain soft small">
          <span className={`dot ${paused ? 'warn' : feed.live ? 'live' : 'off'}`} />{' '}
          {paused ? `paused${waiting > 0 ? `, ${count(waiting)} new` : ''}` : feed.live ? 'live' : 'connecting'}
        </span>
        <Button variant="default" leftSection={paused ? <Play size={14} /> : <Pause size={14} />} onClick={() => setPaused(!paused)}>
          {paused ? 'Resume' : 'Pause'}
        </Button>
      </Head>
      <div className="row">
        <FilterInput label="Search calls" placeholder="Tool, caller, reason or ID" minWidth="12rem" value={q} change={setQ} />
        <NativeSelect
          aria-label="Outcome"
          value={status}
          onChange={(e) => setStatus(e.currentTarget.value)}
          data={[{ value: '', label: 'Any outcome' }, ...statuses]}
        />
        <NativeSelect
          aria-label="Entry point"
          value={entryPoint}
          onChange={(e) => setEntryPoint(e.currentTarget.value)}
          data={[{ value: '', label: 'Any entry point' }, ...entryPoints.map((d) => ({ value: d, label: entryPointNames[d] ?? d }))]}
        />
        <NativeSelect
          aria-label="Server"
          value={server}
          onChange={(e) => setServer(e.currentTarget.value)}
          data={[{ value: '', label: 'Any server' }, ...servers]}
        />
        {agent && (
          <Button variant="light" rightSection={<X size={13} />} onClick={() => setAgent('')}>
            {agent}
          </Button>
        )}
        {view && (
          <Button variant="light" rightSection={<X size={13} />} onClick={() => setView('')}>
            App view {view.slice(0, 8)}
          </Button>
        )}
        {filtered && (
          <Button variant="subtle" color="gray" onClick={() => setParams({}, { replace: true })}>
            Clear
          </Button>
        )}
      </div>
      {feed.missed > 0 && <p className="small soft">{count(feed.missed)} calls came too fast to be shown here. The audit has them all.</p>}
      <Panel>
        {feed.error && calls.length === 0 ? (
          <div className="pad">
            <ErrorCard error={feed.error} />
          </div>
        ) : !feed.loaded ? (
          <Loading rows={8} />
        ) : list.length === 0 ? (
          <Empty title={filtered ? 'No call matches' : 'No calls yet'}>
            {filtered ? (
              'New calls that match appear here.'
            ) : (
              <>
                Call a tool in the{' '}
                <Link className="link" href="/playground">
                  playground
                </Link>
                , or use any client.
              </>
            )}
          </Empty>
        ) : (
          <Virtual
            count={list.length}
            height={height}
            label="Calls"
            row={(i) => <Line key={list[i]?.id} c={list[i] as Call} name={name(list[i] as Call)} />}
          />
        )}
      </Panel>
      <p className="small soft">
        {count(list.length)} of the newest {count(calls.length)}. The{' '}
        <Link className="link" href="/audit">
          audit
        </Link>{' '}
        has older calls.
      </p>
    </>
  );
}

// Line is drawn again only when its call has changed, however fast others come.
const Line = memo(function Line({ c, name }: { c: Call; name: string }) {
  const at = new Date(c.start);
  return (
    <li className="line" style={{ height }}>
      <Link href={`/calls/${c.id}`} className="row plain toolrow small" style={{ height: '100%', padding: '0 1rem', gap: '0.875rem' }}>
        <time className="num soft" dateTime={c.start} title={absolute(at)} style={{ flex: 'none' }}>
          {clock(at)}
        </time>
        <span style={{ flex: 'none', width: '4.75rem' }}>
          <Status status={c.status} />
        </span>
        <span className="grow row plain">
          <span className="mono cut" style={{ fontWeight: 500 }}>
            {shown(c)}
          </span>
          {c.reason && <span className="soft cut wide">{c.reason}</span>}
        </span>
        <span className="soft cut wide" style={{ width: '9rem', flex: 'none' }} title={`${c.issuer}: ${c.subject}`}>
          {name}
        </span>
        <span className="soft wide" style={{ width: '4.5rem', flex: 'none' }}>
          {entryPointNames[c.entry_point] ?? c.entry_point}
        </span>
        <span className="num soft" style={{ width: '4rem', flex: 'none', textAlign: 'right' }}>
          {c.status === 'running' ? '…' : span(c.duration_ns)}
        </span>
      </Link>
    </li>
  );
});
