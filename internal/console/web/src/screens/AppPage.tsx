import { Switch } from '@mantine/core';
import { useRef, useState } from 'react';
import { useApp } from '../api/data';
import { AppView, useSnapshot } from '../apps/AppView';
import type { App } from '../apps/api';
import { asItIs, type ContextOverrides } from '../apps/context';
import type { RunningApp } from '../apps/runningApp';
import { useStage } from '../apps/stage';
import type { Optional } from '../apps/state';
import { Head, Panel, Tabs, Tag } from '../parts/elements';
import { HistoryButton } from '../parts/History';
import { Result } from '../parts/Result';
import type { Schema } from '../parts/schema';
import { ErrorCard, Loading, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { AppEnvironment, Capabilities } from './app/AppEnvironment';
import { Log } from './app/Log';
import { ModelMessages } from './app/ModelMessages';
import { OwnTools } from './app/OwnTools';
import { Policy } from './app/Policy';
import { Arguments } from './playground/Arguments';
import type { Target } from './playground/run';

export default function AppPage({ name }: { name: string }) {
  const app = useApp(name);
  return <QueryContent query={app}>{(a) => <Page a={a} />}</QueryContent>;
}

function Page({ a }: { a: App }) {
  const definition = (a.tool_definition ?? {}) as { inputSchema?: Schema };
  const target: Target = {
    kind: 'tool',
    name: a.name,
    server: '',
    title: a.title ?? '',
    about: a.description ?? '',
    schema: definition.inputSchema ?? { type: 'object' },
  };
  const [switches, setSwitches] = useState<ContextOverrides>(asItIs);
  const [off, setOff] = useState<Optional[]>([]);
  const [streamed, setStreamed] = useState(false);
  const settings = useRef({ off, switches, streamed });
  settings.current = { off, switches, streamed };
  const { running, run } = useStage(target, true, () => settings.current, true);
  return (
    <>
      <Head
        title={a.title || a.tool}
        crumbs={[
          ['Apps', '/apps'],
          [a.server, `/servers/${a.server}`],
        ]}
        sub={
          <span className="row">
            <span className="mono small">{a.name}</span>
            {a.generated && <Tag>generated</Tag>}
            <Tag tone={a.profile === 'compatible' ? 'warn' : 'good'}>
              {a.profile === 'compatible' ? 'compatible policy' : 'strict policy'}
            </Tag>
          </span>
        }
      >
        <HistoryButton object="app" id={a.name} name={a.title || a.name} size="sm" />
      </Head>
      <div className="columns wide-right">
        <div className="stack">
          <Arguments target={target} />
          <Switch
            size="xs"
            label="Stream the arguments, as a model does"
            checked={streamed}
            onChange={(e) => setStreamed(e.currentTarget.checked)}
          />
          <AppEnvironment
            value={switches}
            set={(s) => {
              setSwitches(s);
              running?.turn(s);
            }}
          />
        </div>
        <div className="stack">
          {run.error ? <ErrorCard error={run.error} /> : null}
          {running ? (
            <Stage
              a={a}
              running={running}
              switches={switches}
              result={run.answer?.input ? undefined : run.answer?.result}
              off={off}
              setOff={(next) => {
                setOff(next);
                running.again(undefined, { off: next });
              }}
            />
          ) : (
            <Panel>
              <Loading />
            </Panel>
          )}
        </div>
      </div>
    </>
  );
}

function Stage({
  a,
  running,
  switches,
  result,
  off,
  setOff,
}: {
  a: App;
  running: RunningApp;
  switches: ContextOverrides;
  result: Record<string, unknown> | undefined;
  off: Optional[];
  setOff: (off: Optional[]) => void;
}) {
  const s = useSnapshot(running);
  const [tab, setTab] = useParam('tab', 'log');
  const [shown, setShown] = useParam('show', 'content');
  const text = result && <Result result={result} tab={shown} choose={setShown} />;
  const toModel = s.messages.length + (s.model ? 1 : 0);
  return (
    <>
      <AppView key={keyOf(running)} running={running} title={a.title || a.tool} switches={switches} fallback={text} />
      <Tabs
        label="Sections of the App"
        now={tab}
        choose={setTab}
        tabs={[
          ['log', 'Messages'],
          ['model', `To the model ${toModel || ''}`],
          ['text', 'Text result'],
          ['tools', `Tools of the App ${s.tools.length || ''}`],
          ['policy', 'Policy'],
          ['capabilities', 'Capabilities'],
        ]}
      />
      {tab === 'log' && <Log running={running} />}
      {tab === 'model' && <ModelMessages messages={s.messages} model={s.model} />}
      {tab === 'text' && <Panel pad>{text ?? <p className="soft">No call yet.</p>}</Panel>}
      {tab === 'tools' && <OwnTools running={running} tools={s.tools} ready={s.state === 'ready'} />}
      {tab === 'policy' && <Policy a={a} s={s} again={() => running.again()} running={running} />}
      {tab === 'capabilities' && <Capabilities off={off} set={setOff} />}
    </>
  );
}

// Each View is drawn by a part of its own, which ends with it.
const keys = new WeakMap<RunningApp, number>();
let next = 0;
function keyOf(r: RunningApp): number {
  const known = keys.get(r) ?? ++next;
  keys.set(r, known);
  return known;
}
