import { Loader } from '@mantine/core';
import { Check, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { Probe } from '../../api/client';
import { follow, type Passed } from '../../api/probe';
import { Panel, Scroll } from '../../parts/elements';
import { count, span } from '../../parts/format';

const steps: [string, string, string][] = [
  ['address', 'Connect', 'Start the command'],
  ['tls', 'TLS', ''],
  ['http', 'HTTP', ''],
  ['authentication', 'Authentication', ''],
  ['protocol', 'MCP handshake', 'MCP handshake'],
  ['list', 'List tools, resources and prompts', 'List tools, resources and prompts'],
];

export interface ConnectionTest {
  busy: boolean;
  passed: Passed[];
  probe: Probe | null;
  error: unknown;
}

const notTested: ConnectionTest = { busy: false, passed: [], probe: null, error: null };

// useConnectionTest goes the way to a server, one at a time.
export function useConnectionTest() {
  const [test, setTest] = useState<ConnectionTest>(notTested);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);
  const forget = () => {
    control.current?.abort();
    setTest(notTested);
  };
  const go = async (path: string, body?: unknown) => {
    control.current?.abort();
    const own = new AbortController();
    control.current = own;
    setTest({ ...notTested, busy: true });
    try {
      const probe = await follow<Probe>(path, body, own.signal, (p) => setTest((j) => ({ ...j, passed: [...j.passed, p] })));
      setTest((j) => ({ ...j, busy: false, probe }));
    } catch (error) {
      if (!own.signal.aborted) setTest((j) => ({ ...j, busy: false, error }));
    }
  };
  return { test, go, forget };
}

// ConnectionSteps shows how far it is to a server, step by step, while it is gone.
export function ConnectionSteps({ test, command, secure }: { test: ConnectionTest; command: boolean; secure: boolean }) {
  const { probe, passed, busy } = test;
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

// ToolPreview is what a server would bring.
export function ToolPreview({ probe }: { probe: Probe }) {
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
      <Scroll label="Tools of the server" className="rows" height="26rem">
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
