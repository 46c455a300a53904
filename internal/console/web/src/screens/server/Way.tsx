import { Loader } from '@mantine/core';
import { Check, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { Probe } from '../../api/client';
import { follow, type Passed } from '../../api/probe';
import { Panel, Scroll } from '../../parts/bits';
import { count, span } from '../../parts/format';

const steps: [string, string, string][] = [
  ['address', 'The address answers', 'The command starts'],
  ['tls', 'TLS is in order', ''],
  ['http', 'It speaks HTTP', ''],
  ['authentication', 'It lets Junctor in', ''],
  ['protocol', 'It speaks MCP', 'It speaks MCP'],
  ['list', 'It lists what it has', 'It lists what it has'],
];

export interface Journey {
  busy: boolean;
  passed: Passed[];
  probe: Probe | null;
  error: unknown;
}

const nowhere: Journey = { busy: false, passed: [], probe: null, error: null };

// useJourney goes the way to a server, one at a time.
export function useJourney() {
  const [journey, setJourney] = useState<Journey>(nowhere);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);
  const forget = () => {
    control.current?.abort();
    setJourney(nowhere);
  };
  const go = async (path: string, body?: unknown) => {
    control.current?.abort();
    const own = new AbortController();
    control.current = own;
    setJourney({ ...nowhere, busy: true });
    try {
      const probe = await follow<Probe>(path, body, own.signal, (p) => setJourney((j) => ({ ...j, passed: [...j.passed, p] })));
      setJourney((j) => ({ ...j, busy: false, probe }));
    } catch (error) {
      if (!own.signal.aborted) setJourney((j) => ({ ...j, busy: false, error }));
    }
  };
  return { journey, go, forget };
}

// Way shows how far it is to a server, step by step, while it is gone.
export function Way({ journey, command, secure }: { journey: Journey; command: boolean; secure: boolean }) {
  const { probe, passed, busy } = journey;
  const shown = steps
    .map(([key, http, stdio]) => ({ key, name: command ? stdio : http }))
    .filter((s) => s.name && (s.key !== 'tls' || secure));
  const done = (key: string) => (probe ? probe.passed.includes(key) : passed.some((p) => p.step === key));
  const next = busy ? shown.find((s) => !done(s.key))?.key : undefined;
  return (
    <ol className="steps" aria-live="polite" aria-busy={busy}>
      {shown.map((s, i) => {
        const ok = done(s.key);
        const broke = probe?.failed === s.key;
        const took = passed.find((p) => p.step === s.key)?.elapsed_ns;
        return (
          <li key={s.key}>
            <span className={`mark ${ok ? 'done' : broke ? 'bad' : ''}`}>
              {ok ? (
                <Check size={12} strokeWidth={3} />
              ) : broke ? (
                <X size={12} strokeWidth={3} />
              ) : next === s.key ? (
                <Loader size={10} />
              ) : (
                i + 1
              )}
            </span>
            <span className="grow">
              <span className={ok || broke || next === s.key ? '' : 'soft'}>{s.name}</span>
              {broke && (
                <span className="small wrap" style={{ display: 'block' }}>
                  <span style={{ color: 'var(--bad)' }}>{probe?.reason}</span>
                  {probe?.hint && <span className="soft"> {probe.hint}</span>}
                </span>
              )}
            </span>
            {took !== undefined && <span className="tiny soft num">{span(took)}</span>}
          </li>
        );
      })}
      {probe && !probe.failed && (
        <li className="small soft" style={{ paddingLeft: '1.875rem' }}>
          {probe.status.name} {probe.status.release} · MCP {probe.status.protocol} · {probe.status.latency_ms?.toFixed(0)} ms
        </li>
      )}
      {probe?.failed && probe.status.stderr?.length ? (
        <li>
          <pre className="tiny soft" style={{ paddingLeft: '1.875rem' }}>
            {probe.status.stderr.slice(-12).join('\n')}
          </pre>
        </li>
      ) : null}
    </ol>
  );
}

// Preview is what a server would bring.
export function Preview({ probe }: { probe: Probe }) {
  const tools = probe.preview ?? [];
  const all = tools.reduce((n, t) => n + t.tokens, 0);
  const most = Math.max(1, ...tools.map((t) => t.tokens));
  return (
    <Panel
      title={`${count(tools.length)} tools`}
      acts={
        <span className="small soft">
          about {count(all)} tokens · {probe.status.resources} resources · {probe.status.prompts} prompts
        </span>
      }
    >
      <Scroll label="Its tools" className="rows" height="26rem">
        {[...tools]
          .sort((a, b) => b.tokens - a.tokens)
          .map((t) => (
            <div key={t.name}>
              <span className="grow">
                <span className="mono cut" style={{ display: 'block' }}>
                  {t.name}
                </span>
                <span className="tiny soft cut" style={{ display: 'block' }}>
                  {t.description}
                </span>
              </span>
              <span className="meter" aria-hidden>
                <i style={{ width: `${(t.tokens / most) * 100}%` }} />
              </span>
              <span className="tiny soft num" style={{ width: '3rem', textAlign: 'right' }}>
                {count(t.tokens)}
              </span>
            </div>
          ))}
      </Scroll>
    </Panel>
  );
}
