import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { AppView } from '../../apps/AppView';
import { useStage } from '../../apps/stage';
import { Panel, Tag } from '../../parts/elements';
import { span } from '../../parts/format';
import { Code } from '../../parts/Json';
import { Result } from '../../parts/Result';
import { ErrorCard } from '../../parts/states';
import { useParam } from '../../parts/url';
import { InputRequests } from '../InputRequests';
import { lastArgs, type Run, start, type Target, useRecordRun } from './run';

// Outcome is what a run says, asks and gives.
export function Outcome({ target }: { target: Target }) {
  const { running, run: state } = useStage(target, target.app ?? false, () => ({}));
  const past = useRecordRun();
  const [tab, setTab] = useParam('show', 'content');
  const answer = state.answer;
  const asks = answer?.input ? (answer.result.inputRequests ?? {}) : {};
  return (
    <Panel
      title="Result"
      acts={
        answer && (
          <span className="row plain small">
            {answer.input ? (
              <Tag tone="act">Awaiting input</Tag>
            ) : answer.task ? (
              <Tag tone="act">task</Tag>
            ) : (
              <Tag tone={answer.is_error ? 'bad' : 'good'}>{answer.is_error ? 'tool error' : 'success'}</Tag>
            )}
            <span className="soft num">{span(answer.duration_ns)}</span>
            {answer.call && !answer.input && (
              <Link className="link" href={`/calls/${answer.call}`}>
                Call details
              </Link>
            )}
          </span>
        )
      }
      pad
    >
      <div className="stack" aria-live="polite" aria-busy={state.busy}>
        {state.busy && <Progress run={state} />}
        {state.log.length > 0 && (
          <details open={state.busy}>
            <summary className="small soft">{state.log.length} messages</summary>
            <Code>{state.log.map((l) => `${l.level.padEnd(8)} ${l.text}`).join('\n')}</Code>
          </details>
        )}
        {state.error ? <ErrorCard error={state.error} /> : null}
        {target.app && running && <AppView key={state.first} running={running} title={target.title || target.name} />}
        {answer?.input ? (
          <InputRequests
            asks={asks}
            answer={(responses) =>
              void start(target, lastArgs(), past, { input_responses: responses, request_state: answer.result.requestState })
            }
          />
        ) : answer ? (
          <Result result={answer.result} tab={tab} choose={setTab} />
        ) : (
          !state.busy && !state.error && <p className="soft">No call yet.</p>
        )}
      </div>
    </Panel>
  );
}

function Progress({ run }: { run: Run }) {
  const p = run.progress;
  const part = p?.total ? Math.min(1, p.progress / p.total) : undefined;
  const [now, setNow] = useState(run.began);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <div className="stack tight" role="status">
      <div className="water">
        <i className={part === undefined ? 'bone' : ''} style={{ left: 0, width: `${(part ?? 1) * 100}%` }} />
      </div>
      <span className="small soft row plain">
        <span className="grow">{p?.message ?? (p ? `${p.progress}${p.total ? ` of ${p.total}` : ''}` : 'Running…')}</span>
        <span className="num">{(Math.max(0, now - run.began) / 1000).toFixed(1)} s</span>
      </span>
    </div>
  );
}
