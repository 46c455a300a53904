import { Button, SegmentedControl } from '@mantine/core';
import { ArrowDownLeft, ArrowUpRight, Ban } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useSnapshot } from '../../apps/AppView';
import type { Entry } from '../../apps/messageLog';
import type { RunningApp } from '../../apps/runningApp';
import { Panel, Scroll, Tag } from '../../parts/elements';
import { bytes, clock } from '../../parts/format';
import { Json } from '../../parts/Json';
import { save } from '../../parts/save';

// useFollowed reads what the gateway and the sandbox wrote down, too.
export function useFollowed(running: RunningApp) {
  const view = useSnapshot(running).view?.id;
  useEffect(() => {
    if (!view) return;
    void running.follow();
    const timer = setInterval(() => void running.follow(), 2000);
    return () => clearInterval(timer);
  }, [running, view]);
  return running.log();
}

// Log is what was said between the View and its host, and what was stopped.
export function Log({ running }: { running: RunningApp }) {
  const all = useFollowed(running);
  const [which, setWhich] = useState('all');
  const shown = which === 'all' ? all : all.filter((e) => (which === 'stopped' ? e.kind === 'refused' : e.from === which));
  return (
    <Panel
      title={`${all.length} messages${running.dropped() ? `, ${running.dropped()} more not stored` : ''}`}
      acts={
        <>
          <SegmentedControl
            size="xs"
            aria-label="Filter messages"
            value={which}
            onChange={setWhich}
            data={[
              { value: 'all', label: 'All' },
              { value: 'view', label: 'From the App' },
              { value: 'host', label: 'To the App' },
              { value: 'stopped', label: 'Blocked' },
            ]}
          />
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => save('messages.json', JSON.stringify(all, null, 2), 'application/json')}
          >
            Download
          </Button>
        </>
      }
    >
      <Scroll label="Messages" height="26rem">
        {shown.length === 0 ? (
          <p className="soft pad">No messages.</p>
        ) : (
          <ol className="view-log">
            {shown.toReversed().map((e) => (
              <li key={e.n}>
                <Row e={e} />
              </li>
            ))}
          </ol>
        )}
      </Scroll>
    </Panel>
  );
}

function Row({ e }: { e: Entry }) {
  const [open, setOpen] = useState(false);
  const stopped = e.kind === 'refused';
  return (
    <details onToggle={(t) => setOpen(t.currentTarget.open)}>
      <summary>
        <span className="tiny soft num">{clock(e.at)}</span>
        {stopped ? (
          <Ban size={13} color="var(--bad)" aria-label="blocked" />
        ) : e.from === 'view' ? (
          <ArrowDownLeft size={13} color="var(--act)" aria-label="from the App" />
        ) : (
          <ArrowUpRight size={13} color="var(--soft)" aria-label="to the App" />
        )}
        <span className="mono small cut grow">
          {e.method}
          {stopped && <span className="stopped"> {String(e.body)}</span>}
        </span>
        {e.kind === 'error' && <Tag tone="bad">error</Tag>}
        {e.kind === 'answer' && <span className="tiny soft">response</span>}
        {!stopped && e.size > 2 && <span className="tiny soft num">{bytes(e.size)}</span>}
      </summary>
      {open && <Json value={e.body ?? {}} />}
    </details>
  );
}
