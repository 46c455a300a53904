import { ActionIcon, Button } from '@mantine/core';
import { Columns2, History, RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import { Ago, Panel, Tag } from '../../parts/elements';
import { span } from '../../parts/format';
import { useParam } from '../../parts/url';
import { leaveArgs, type PastRun, start, useCompared, useRecordRun, useRunHistory } from './run';

const outcomes: Record<string, 'good' | 'bad' | 'act' | ''> = { success: 'good', error: 'bad', asked: 'act', canceled: '' };

// RunHistory are what was tried in this tab, to look at and to try again.
export function RunHistory() {
  const [pasts, setPasts] = useRunHistory();
  const [, setKind] = useParam('kind', 'tool');
  const [, setName] = useParam('name');
  const [, setServer] = useParam('server');
  const past = useRecordRun();
  const [compared, setCompared] = useCompared();
  // The third choice takes the place of the first.
  const compare = (id: string) => setCompared(compared.includes(id) ? compared.filter((c) => c !== id) : [...compared, id].slice(-2));
  if (pasts.length === 0) return null;
  const load = (p: PastRun) => {
    leaveArgs(p, p.args);
    setKind(p.kind);
    setServer(p.kind === 'tool' ? '' : p.server);
    setName(p.name);
  };
  return (
    <Panel
      title={
        <span className="row plain">
          <History size={15} aria-hidden /> History
        </span>
      }
      acts={
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setPasts([])}>
          Clear
        </Button>
      }
    >
      <div className="rows" style={{ maxHeight: '20rem', overflowY: 'auto' }}>
        {pasts.map((p) => (
          <div key={p.id}>
            <button type="button" className="plainly grow" title="Fill in these arguments" onClick={() => load(p)}>
              <span className="mono small cut" style={{ display: 'block' }}>
                {p.name}
              </span>
              <span className="tiny soft mono cut" style={{ display: 'block' }}>
                {JSON.stringify(p.args)}
              </span>
            </button>
            {p.call ? (
              <Link href={`/calls/${p.call}`} title="Call details">
                <Tag tone={outcomes[p.outcome] ?? 'warn'}>{p.outcome}</Tag>
              </Link>
            ) : (
              <Tag tone={outcomes[p.outcome] ?? 'warn'}>{p.outcome}</Tag>
            )}
            <span className="tiny soft num wide">{span(p.ns)}</span>
            <span className="tiny soft wide">
              <Ago at={p.at} />
            </span>
            <ActionIcon
              aria-label={`Compare: ${p.name}`}
              title="Compare the results of two runs"
              aria-pressed={compared.includes(p.id)}
              variant={compared.includes(p.id) ? 'light' : 'subtle'}
              size="sm"
              onClick={() => compare(p.id)}
            >
              <Columns2 size={13} />
            </ActionIcon>
            <ActionIcon
              aria-label={`Run again: ${p.name}`}
              size="sm"
              onClick={() => {
                load(p);
                void start({ ...p, title: '', about: '', schema: {} }, p.args, past);
              }}
            >
              <RotateCcw size={13} />
            </ActionIcon>
          </div>
        ))}
      </div>
    </Panel>
  );
}
