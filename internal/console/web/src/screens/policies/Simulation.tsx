import { Button, SegmentedControl } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { Link } from 'wouter';
import { send } from '../../api/client';
import type { PolicyEntry, PolicyRule, PolicySimulation } from '../../api/policies';
import { Panel, Tag, type Tone } from '../../parts/elements';
import { count, counted } from '../../parts/format';
import { withRule } from '../../parts/policy';
import { ErrorCard } from '../../parts/states';
import './policies.css';

const pause = 800;
const hour = 3_600_000;
const periods: { value: string; label: string; hours: number }[] = [
  { value: '24h', label: '24 h', hours: 24 },
  { value: '7d', label: '7 days', hours: 7 * 24 },
];
const few = 5_000; // calls that are read while somebody writes
const many = 200_000; // calls that are read if somebody asks for it
const quick = 1_500; // ms; a simulation that takes longer waits for the button

// Simulation shows which recorded calls the rule would have ended otherwise. It is enforced
// here whatever its mode is: that is what one wants to know before.
export function Simulation({
  rule,
  place,
  stored,
  waits,
  ready,
}: {
  rule: PolicyRule;
  place: string;
  stored: readonly PolicyEntry[];
  waits: string; // why the rule cannot be simulated yet
  ready: boolean; // whether it was checked as it is now
}) {
  const [period, setPeriod] = useState('24h');
  const [pressed, setPressed] = useState('');
  const took = useRef(0);
  const now = JSON.stringify(withRule(stored, { ...rule, mode: undefined }, place));
  const [rules] = useDebouncedValue(now, pause);
  const settled = rules === now;
  const key = `${period} ${rules}`;
  const whole = pressed === key;
  const cheap = took.current <= quick;
  const query = useQuery({
    queryKey: ['policy-simulation', rules, period, whole],
    queryFn: async ({ signal }) => {
      const begun = performance.now();
      const since = new Date(Date.now() - (periods.find((p) => p.value === period)?.hours ?? 24) * hour).toISOString();
      const body = { rules: JSON.parse(rules), since, limit: whole ? many : few };
      const answer = await send<PolicySimulation>('POST', '/policies/simulate', body, { signal });
      if (!whole) took.current = performance.now() - begun;
      return { answer, of: key };
    },
    enabled: waits === '' && ready && (cheap || whole),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
  const current = settled && query.data?.of === key && waits === '';
  return (
    <Panel
      title="Simulation"
      acts={<SegmentedControl size="xs" aria-label="Time of the calls" value={period} onChange={setPeriod} data={periods} />}
      pad
    >
      <div className="stack" aria-busy={query.isFetching}>
        {waits !== '' ? (
          <p className="soft small">{waits}</p>
        ) : query.error ? (
          <ErrorCard error={query.error} retry={() => query.refetch()} />
        ) : (
          !query.data && <p className="soft small">{cheap ? 'Evaluating recorded calls…' : 'The rule was changed.'}</p>
        )}
        {query.data && waits === '' && !query.error && (
          <div className="stack" data-current={current}>
            {!current && <Note>{settled && !query.isFetching ? 'For an earlier version of the rule:' : 'Updating…'}</Note>}
            <Outcome s={query.data.answer} rule={rule.name} audit={rule.mode === 'audit'} />
          </div>
        )}
        {waits === '' && ((settled && !current && !query.isFetching) || query.data?.answer.partial) && !whole && (
          <div className="row">
            <Button size="compact-sm" variant="default" onClick={() => setPressed(key)}>
              {query.data?.answer.partial ? `Read up to ${count(many)} calls` : 'Simulate'}
            </Button>
          </div>
        )}
      </div>
    </Panel>
  );
}

const ends: Record<string, [Tone, string]> = {
  made: ['good', 'made'],
  denied: ['bad', 'denied'],
  asked: ['warn', 'asked'],
  redacted: ['act', 'redacted'],
  cut: ['act', 'cut'],
};

// End is how a call ended, or would have ended.
export const End = ({ end }: { end: string }) => <Tag tone={ends[end]?.[0] ?? ''}>{ends[end]?.[1] ?? end}</Tag>;

const reasons: [name: string, text: string][] = [
  ['arguments', 'with arguments that are cut, redacted or not yours to read'],
  ['facts', 'recorded without what rules read'],
  ['result', 'with a result that is cut or redacted'],
  ['tool', 'of tools that have another definition now'],
  ['filter', 'that a webhook decides about'],
];

const fewGroups = 8;

// Outcome draws an answer of the simulation.
export function Outcome({ s, rule, audit }: { s: PolicySimulation; rule: string; audit: boolean }) {
  const [all, setAll] = useState(false);
  const own = s.rules.find((r) => r.rule === rule);
  const by: Readonly<Record<string, number>> = { ...s.undecidable };
  const open = reasons.filter(([name]) => (by[name] ?? 0) > 0);
  const undecidable = Object.values(by).reduce((n, one) => n + one, 0);
  const failing = [...new Set((s.problems ?? []).filter((p) => !p.warning).map((p) => p.rule))];
  const groups = all ? s.differences : s.differences.slice(0, fewGroups);
  if (s.calls === 0) return <p className="soft small">No calls are recorded in this time.</p>;
  return (
    <>
      <p role="status">
        <b className="num">{count(s.changed)}</b> of {counted(s.decided, 'call')} would have ended otherwise.
        {own && (
          <span className="soft">
            {' '}
            This rule matches {count(own.matched)}
            {own.errors ? ` and fails on ${count(own.errors)}` : ''}.
          </span>
        )}
        {audit && <span className="soft"> The simulation enforces it.</span>}
      </p>
      {groups.length > 0 && (
        <ol className="differences" aria-label="Calls that would have ended otherwise">
          {groups.map((d) => (
            <li key={`${d.rule} ${d.tool} ${d.agent} ${d.from} ${d.to}`}>
              <span className="row">
                <code className="wrap grow">{d.tool}</code>
                <End end={d.from} />{' '}
                <span role="img" aria-label="becomes">
                  →
                </span>{' '}
                <End end={d.to} />
                <b className="num">{count(d.calls)}</b>
              </span>
              <span className="row tiny soft">
                <span>{d.agent ? `agent ${d.agent}` : 'no agent'}</span>
                {d.rule && <span>by {d.rule === rule ? 'this rule' : d.rule}</span>}
                {d.samples.map((id, i) => (
                  <Link key={id} className="link" href={`/calls/${id}`} aria-label={`Call ${i + 1} of ${d.tool}, ${d.from} to ${d.to}`}>
                    call {i + 1}
                  </Link>
                ))}
              </span>
            </li>
          ))}
        </ol>
      )}
      {s.differences.length > groups.length && (
        <div>
          <Button size="compact-xs" variant="subtle" onClick={() => setAll(true)}>
            Show {count(s.differences.length - groups.length)} more groups
          </Button>
        </div>
      )}
      {undecidable > 0 && (
        <Note>
          {counted(undecidable, 'more call')} cannot be decided: {open.map(([name, text]) => `${count(by[name] ?? 0)} ${text}`).join(', ')}.
        </Note>
      )}
      {s.partial && <Note>Only the newest {counted(s.calls, 'call')} are read.</Note>}
      {failing.length > 0 && <Note>Rules with problems are simulated as they are in operation: {failing.join(', ')}.</Note>}
      {s.share !== undefined && s.share < 0.995 && (
        <Note>The history keeps {(s.share * 100).toFixed(s.share < 0.1 ? 1 : 0)} % of the calls of this time.</Note>
      )}
    </>
  );
}

const Note = ({ children }: { children: ReactNode }) => <p className="tiny soft">{children}</p>;
