import { SegmentedControl } from '@mantine/core';
import { Play } from 'lucide-react';
import { Head, Panel } from '../parts/elements';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';
import { Arguments } from './playground/Arguments';
import { Comparison } from './playground/Comparison';
import { Outcome } from './playground/Outcome';
import { RunHistory } from './playground/RunHistory';
import type { Kind } from './playground/run';
import { TargetChooser, useTarget } from './playground/TargetChooser';

export default function Playground() {
  const [kind, setKind] = useParam('kind', 'tool');
  const [name, setName] = useParam('name');
  const [server, setServer] = useParam('server');
  const { target, error, refetch } = useTarget(kind as Kind, server, name);
  return (
    <>
      <Head
        title="Playground"
        sub="Try tools, resources and prompts as yourself, with the same checks, limits and records as on every endpoint."
      >
        <SegmentedControl
          aria-label="What to try"
          value={kind}
          data={[
            { value: 'tool', label: 'Tools' },
            { value: 'resource', label: 'Resources' },
            { value: 'prompt', label: 'Prompts' },
          ]}
          onChange={(k) => {
            setName('');
            if (k === 'tool') setServer('');
            setKind(k);
          }}
        />
      </Head>
      <div className="columns narrow-left">
        <div className="stack">
          <TargetChooser key={kind} kind={kind as Kind} chosen={target} choose={setName} server={server} setServer={setServer} />
          {target ? (
            <Arguments key={`${kind} ${server} ${name}`} target={target} />
          ) : (
            name && (error ? <ErrorCard error={error} retry={() => refetch()} /> : <Loading />)
          )}
        </div>
        <div className="stack" id="outcome">
          {target ? (
            <Outcome target={target} />
          ) : (
            <Panel>
              <Empty icon={<Play size={28} strokeWidth={1.5} aria-hidden />} title="Choose something to try">
                The result appears here.
              </Empty>
            </Panel>
          )}
          <Comparison />
          <RunHistory />
        </div>
      </div>
    </>
  );
}
