import { ActionIcon, Button } from '@mantine/core';
import { History, RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import { Ago, Panel, Tag } from '../../parts/elements';
import { span } from '../../parts/format';
import { useParam } from '../../parts/url';
import { leaveArgs, type PastRun, start, useRecordRun, useRunHistory } from './run';

const outcomes: Record<string, 'good' | 'bad' | 'act' | ''> = { success: 'good', error: 'bad', asked: 'act', canceled: '' };

// RunHistory are what was tried in this tab, to look at and to try again.
export function RunHistory() {
  const [pasts, setPasts] = useRunHistory();
  const [, setKind] = useParam('kind', 'tool');
  const [, setName] = useParam('name');
  const [, setServer] = useParam('server');
  const past = useRecordRun();
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
          <History size={15} aria-hidden /> Recent runs
        </span>
      }
      acts={
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setPasts([])}>
          Clear
        </Button>
      }
    >
      <div className="rows" style={{ maxHeight: '20rem', overflowY: 'auto' }}>
        {pasts.map((p, i) => (
          <div key={p.at + i}>
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
