import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Params } from '../../apps/protocol';
import type { RunningApp } from '../../apps/runningApp';
import type { AppTool } from '../../apps/state';
import { Panel, Tag } from '../../parts/elements';
import { Result } from '../../parts/Result';
import { SchemaForm } from '../../parts/SchemaForm';
import { check, initial, type Schema } from '../../parts/schema';
import { ErrorCard } from '../../parts/states';

// OwnTools are what a running App lets its host do with it.
export function OwnTools({ running, tools, ready }: { running: RunningApp; tools: AppTool[]; ready: boolean }) {
  if (tools.length === 0)
    return (
      <Panel pad>
        <p className="soft">The App has no tools. Models, and this page, can call the tools of an App.</p>
      </Panel>
    );
  return (
    <div className="stack">
      {tools.map((t) => (
        <Own key={t.name} t={t} running={running} ready={ready} />
      ))}
    </div>
  );
}

function Own({ t, running, ready }: { t: AppTool; running: RunningApp; ready: boolean }) {
  const schema = (t.inputSchema ?? { type: 'object', properties: {}, additionalProperties: false }) as Schema;
  const [args, setArgs] = useState<unknown>(() => initial(schema) ?? {});
  const [tab, setTab] = useState('content');
  const call = useMutation({ mutationFn: () => running.call(t.name, args as Params) });
  const wrong = check(args, schema);
  return (
    <Panel title={t.title || t.name} acts={t.annotations?.readOnlyHint ? <Tag tone="good">Read-only</Tag> : <Tag>Writes</Tag>} pad>
      <form
        className="stack"
        aria-label={t.name}
        onSubmit={(e) => {
          e.preventDefault();
          if (wrong.length === 0) call.mutate();
        }}
      >
        {t.description && <p className="small soft wrap">{t.description}</p>}
        <SchemaForm schema={schema} value={args} wrong={wrong} change={setArgs} />
        <div className="acts">
          <Button type="submit" variant="default" loading={call.isPending} disabled={!ready || wrong.length > 0}>
            Call {t.name}
          </Button>
        </div>
        {call.error && <ErrorCard error={call.error} />}
        {call.data !== undefined && <Result result={call.data as Record<string, unknown>} tab={tab} choose={setTab} />}
      </form>
    </Panel>
  );
}
