import { Button } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { type PolicyExplanation, type PolicyHit, useExplanation } from '../../api/policies';
import { Panel, Tag, type Tone } from '../../parts/elements';
import { Json } from '../../parts/Json';
import { ErrorCard, Loading } from '../../parts/states';
import { VerdictTag } from '../policies/tags';
import '../policies/policies.css';

const values: Record<string, [Tone, string]> = {
  true: ['act', 'matched'],
  false: ['', 'did not match'],
  error: ['bad', 'could not be evaluated'],
  unknown: ['warn', 'unknown'],
  skipped: ['', 'skipped'],
};

const Value = ({ value }: { value: string }) => <Tag tone={values[value]?.[0] ?? ''}>{values[value]?.[1] ?? value}</Tag>;

const RuleLink = ({ name }: { name: string }) => (
  <Link className="link" href={`/policies/${encodeURIComponent(name)}`}>
    {name}
  </Link>
);

// CallRules shows what rules did with a call when it was made. Explain evaluates them again and
// shows why.
export function CallRules({ id, hits }: { id: string; hits: readonly PolicyHit[] }) {
  const [asked, setAsked] = useState(false);
  const explanation = useExplanation(id, asked);
  return (
    <Panel
      title="Rules"
      acts={
        <Button
          size="compact-sm"
          variant="default"
          loading={explanation.isFetching}
          onClick={() => (asked ? void explanation.refetch() : setAsked(true))}
        >
          Explain
        </Button>
      }
    >
      {hits.length === 0 ? (
        <p className="pad soft">No rule was evaluated when the call was made.</p>
      ) : (
        <ul className="rules" aria-label="Rules that were evaluated">
          {hits.map((h) => (
            <li key={`${h.rule} ${h.version}`}>
              <span className="row">
                <RuleLink name={h.rule} />
                <VerdictTag verdict={h.verdict} filter={false} />
                <Value value={h.value} />
                {h.mode === 'audit' && <Tag title="The rule only recorded what it would have done">audit</Tag>}
                {h.decided && <Tag tone="bad">decided</Tag>}
                {!!h.changed && <span className="small soft">{h.changed} texts changed</span>}
              </span>
              {h.error && <span className="small soft wrap">{h.error}</span>}
            </li>
          ))}
        </ul>
      )}
      {asked && (
        <div className="pad explanation">
          {explanation.data ? (
            <Explanation x={explanation.data} />
          ) : explanation.error ? (
            <ErrorCard error={explanation.error} />
          ) : (
            <Loading rows={2} />
          )}
        </div>
      )}
    </Panel>
  );
}

const verdicts: Record<string, [Tone, string]> = {
  made: ['good', 'made'],
  denied: ['bad', 'denied'],
  asked: ['warn', 'asked'],
  undecidable: ['warn', 'undecidable'],
};

// Explanation shows what the rules come to now, and which parts of their conditions decide.
export function Explanation({ x }: { x: PolicyExplanation }) {
  return (
    <div className="stack" role="status">
      <p>
        With the current rules, the call is <Tag tone={verdicts[x.verdict]?.[0] ?? ''}>{verdicts[x.verdict]?.[1] ?? x.verdict}</Tag>
        {x.rule && (
          <>
            {' '}
            by <RuleLink name={x.rule} />
          </>
        )}
        .
      </p>
      {x.notes && x.notes.length > 0 && (
        <ul className="small soft" style={{ margin: 0, paddingLeft: '1.125rem' }}>
          {x.notes.map((n) => (
            <li key={n} className="wrap">
              {n}
            </li>
          ))}
        </ul>
      )}
      {x.rules.length === 0 && <p className="soft small">No rule is about calls like this one.</p>}
      {x.rules.map((r) => (
        <section key={`${r.rule} ${r.version}`} className="stack tight" aria-label={`Rule ${r.rule}`}>
          <span className="row">
            <RuleLink name={r.rule} />
            <VerdictTag verdict={r.verdict} filter={false} />
            <Value value={r.value} />
            {r.phase === 'result' && <span className="tiny soft">on the result</span>}
            {r.mode === 'audit' && <Tag>audit</Tag>}
            {r.decided && <Tag tone="bad">decides</Tag>}
            {r.operators && <Tag>operator</Tag>}
          </span>
          {r.error && <span className="small soft wrap">{r.error}</span>}
          {r.parts && r.parts.length > 0 && (
            <table className="fields parts">
              <thead>
                <tr>
                  <th>Value</th>
                  <th>Part of the condition</th>
                  <th>Read</th>
                </tr>
              </thead>
              <tbody>
                {r.parts.map((p, i) => (
                  <tr key={i}>
                    <td className="mono">{p.value}</td>
                    <td className="mono">{p.expression}</td>
                    <td className="mono">
                      {(p.inputs ?? []).map((one) => (
                        <div key={one}>{one}</div>
                      ))}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </section>
      ))}
      <details>
        <summary className="small soft">What the conditions read</summary>
        <div style={{ marginTop: '0.5rem' }}>
          <Json value={x.inputs} />
        </div>
      </details>
    </div>
  );
}
