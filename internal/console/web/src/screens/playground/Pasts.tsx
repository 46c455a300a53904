import { ActionIcon, Button } from '@mantine/core';
import { History, RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import { Ago, Panel, Tag } from '../../parts/bits';
import { span } from '../../parts/format';
import { useParam } from '../../parts/url';
import { leaveArgs, type Past, start, usePast, usePasts } from './run';

const outcomes: Record<string, 'good' | 'bad' | 'act' | ''> = { success: 'good', error: 'bad', asked: 'act', canceled: '' };

// Pasts are what was tried in this tab, to look at and to try again.
export function Pasts() {
  const [pasts, setPasts] = usePasts();
  const [, setKind] = useParam('kind', 'tool');
  const [, setName] = useParam('name');
  const [, setServer] = useParam('server');
  const past = usePast();
  if (pasts.length === 0) return null;
  const load = (p: Past) => {
    leaveArgs(p, p.args);
    setKind(p.kind);
    setServer(p.kind === 'tool' ? '' : p.server);
    setName(p.name);
  };
  return (
    <Panel
      title={
        <span className="row plain">
          <History size={15} aria-hidden /> What you tried
        </span>
      }
      acts={
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setPasts([])}>
          Forget
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
              <Link href={`/calls/${p.call}`} title="What happened">
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
              aria-label={`Again: ${p.name}`}
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
