import type { PolicyEntry } from '../../api/policies';
import { Tag, type Tone } from '../../parts/elements';
import { type Verdict, verdictNames } from '../../parts/policy';

const tones: Record<Verdict, Tone> = { allow: 'good', deny: 'bad', ask: 'warn', redact: 'act', cut: 'act' };

// VerdictTag is what a rule does with a call that it matches.
export const VerdictTag = ({ verdict, filter }: { verdict: string; filter: boolean }) => (
  <Tag tone={filter ? '' : (tones[verdict as Verdict] ?? '')}>{filter ? 'Webhook' : (verdictNames[verdict as Verdict] ?? verdict)}</Tag>
);

const states: Record<PolicyEntry['state'], [Tone, string]> = {
  active: ['good', 'Its condition fits every tool of its target.'],
  unchecked: ['warn', 'A server of its target has not listed its tools yet.'],
  broken: ['bad', 'Its condition does not fit a tool of its target.'],
};

// PolicyState says whether a rule is in effect.
export const PolicyState = ({ e }: { e: Pick<PolicyEntry, 'state'> }) => (
  <Tag tone={states[e.state][0]} title={states[e.state][1]}>
    {e.state}
  </Tag>
);
