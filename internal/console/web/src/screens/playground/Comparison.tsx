import { Button } from '@mantine/core';
import { useMemo } from 'react';
import { type DiffLine, diff } from '../../parts/diff';
import { Panel, Tag } from '../../parts/elements';
import { span } from '../../parts/format';
import { SideBySide } from '../../parts/SideBySide';
import { type PastRun, useCompared, useRunHistory } from './run';

const mostLines = 400; // of each result; the comparison takes time for each pair of lines

// Comparison shows two results side by side, the older one at the left. RunHistory has the
// buttons that choose them.
export function Comparison() {
  const [pasts] = useRunHistory();
  const [chosen, setChosen] = useCompared();
  const runs = pasts.filter((p) => chosen.includes(p.id)).reverse();
  const [a, b] = runs;
  if (!a || !b) return null;
  return (
    <Panel
      title="Comparison"
      acts={
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setChosen([])}>
          Close
        </Button>
      }
      pad
    >
      <Compared a={a} b={b} />
    </Panel>
  );
}

function Compared({ a, b }: { a: PastRun; b: PastRun }) {
  const args = useMemo(() => linesOf(a.args, b.args), [a, b]);
  const results = useMemo(() => linesOf(a.result, b.result), [a, b]);
  const same = results.lines.every((l) => l.same) && !results.cut;
  return (
    <div className="stack">
      <div className="columns">
        {[a, b].map((p) => (
          <div key={p.id} className="stack tight">
            <b className="mono small cut">{p.name}</b>
            <span className="row small">
              <Tag tone={p.outcome === 'success' ? 'good' : 'bad'}>{p.outcome}</Tag>
              <span className="num soft">{span(p.ns)}</span>
            </span>
          </div>
        ))}
      </div>
      {args.lines.some((l) => !l.same) && <Lines title="Arguments" of={args} />}
      {a.result === undefined || b.result === undefined ? (
        <p className="soft small">A result is too large to be kept for a comparison. Its call details have it.</p>
      ) : same ? (
        <p role="status">The results are the same.</p>
      ) : (
        <Lines title="Results" of={results} />
      )}
    </div>
  );
}

interface Difference {
  lines: DiffLine[];
  cut: boolean;
}

function linesOf(a: unknown, b: unknown): Difference {
  const [left, right] = [a, b].map((v) => (JSON.stringify(v, null, 2) ?? '').split('\n')) as [string[], string[]];
  const text = (lines: string[]) => lines.slice(0, mostLines).join('\n');
  return { lines: diff(text(left), text(right)), cut: left.length > mostLines || right.length > mostLines };
}

const Lines = ({ title, of }: { title: string; of: Difference }) => (
  <div className="stack tight">
    <span className="tiny soft">{title}</span>
    <SideBySide label={`${title} side by side`} lines={of.lines} height="28rem" />
    {of.cut && <span className="tiny soft">The first {mostLines} lines are compared.</span>}
  </div>
);
