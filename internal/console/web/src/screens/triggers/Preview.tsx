import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { Failure } from '../../api/client';
import type { Trial } from '../../api/events';
import { Panel, Tag } from '../../parts/elements';
import { absolute } from '../../parts/format';
import { Json } from '../../parts/Json';
import { parseJSON } from '../../parts/parseJSON';
import { ErrorCard } from '../../parts/states';
import { type TrialInput, useRecent } from './trial';

// Preview shows what the trigger would do with an event, while it is written.
export function Preview({
  tried,
  change,
  trial,
  ready,
}: {
  tried: TrialInput;
  change: (c: Partial<TrialInput>) => void;
  trial: { answer: Trial | undefined; error: unknown };
  ready: boolean;
}) {
  const recent = useRecent();
  const chosen = recent.find((e) => e.id === tried.event);
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      <Panel title="Test event" pad>
        <div className="stack">
          <NativeSelect
            aria-label="Test event"
            value={tried.event}
            onChange={(e) => change({ event: e.currentTarget.value })}
            data={[
              { value: '', label: 'Custom event' },
              ...recent.map((e) => ({ value: e.id, label: `${e.type} from ${e.source}, ${absolute(new Date(e.received_at))}` })),
            ]}
          />
          {tried.event ? (
            <Json value={chosen?.data ?? {}} />
          ) : (
            <>
              <div className="row" style={{ alignItems: 'flex-start' }}>
                {(['type', 'source', 'agent'] as const).map((name) => (
                  <TextInput
                    key={name}
                    className="grow"
                    style={{ minWidth: '5.5rem' }}
                    aria-label={`Test event: ${name}`}
                    placeholder={name}
                    value={tried[name]}
                    onChange={(e) => change({ [name]: e.currentTarget.value })}
                  />
                ))}
              </div>
              <div className="editor">
                <Textarea
                  aria-label="Test event: data"
                  autosize
                  minRows={4}
                  maxRows={14}
                  spellCheck={false}
                  value={tried.data}
                  error={parseJSON(tried.data).problem}
                  onChange={(e) => change({ data: e.currentTarget.value })}
                />
              </div>
            </>
          )}
        </div>
      </Panel>
      <Panel title="Preview" pad>
        <Outcome trial={trial} ready={ready} />
      </Panel>
    </div>
  );
}

function Outcome({ trial, ready }: { trial: { answer: Trial | undefined; error: unknown }; ready: boolean }) {
  if (!ready) return <p className="soft">Choose a tool and its server or agent.</p>;
  if (trial.error)
    return trial.error instanceof Failure && trial.error.problem.code === 'invalid' ? (
      <p className="wrap" role="status" style={{ color: 'var(--bad)' }}>
        {trial.error.message}
      </p>
    ) : (
      <ErrorCard error={trial.error} />
    );
  const a = trial.answer;
  if (!a) return <p className="soft">Looking…</p>;
  return (
    <div className="stack" role="status">
      <div className="row">
        {a.matches ? <Tag tone="good">matches the event</Tag> : <Tag tone="warn">does not match the event</Tag>}
        {a.fault ? <Tag tone="bad">no call can be made</Tag> : a.tool && <Tag tone="good">valid arguments</Tag>}
      </div>
      {a.fault && (
        <p className="small wrap" style={{ color: 'var(--bad)' }}>
          {a.fault}
        </p>
      )}
      {a.breaks && a.breaks.length > 0 && (
        <ul className="small wrap" style={{ margin: 0, paddingLeft: '1.125rem' }}>
          {a.breaks.map((b, i) => (
            <li key={i}>
              <code>{b.pointer || '/'}</code> {b.message}
            </li>
          ))}
        </ul>
      )}
      {a.arguments !== undefined && <Json value={a.arguments} label="Copy the arguments" />}
      {!a.tool && !a.fault && <p className="small soft">The schema of the tool is checked when the call is made.</p>}
    </div>
  );
}
