import { Button, NumberInput } from '@mantine/core';
import { Check, Play } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { useMe } from '../api/data';
import { useFeed } from '../api/feed';
import { can } from '../app/permissions';
import { Head, Tag } from '../parts/elements';
import { span } from '../parts/format';
import { instanceURL } from '../parts/instanceURL';
import { Code } from '../parts/Json';
import { blocksOf } from '../parts/Result';
import { ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';
import { keyOf, start, type Target, useRecordRun, useRun } from './playground/run';
import { type FirstStep, useFirstSteps } from './start/steps';

// Start leads through the first minutes. A step ticks itself off when it really
// happened, wherever it happened.
export default function Start() {
  const steps = useFirstSteps(true);
  const [open, setOpen] = useParam('step');
  if (!steps) return <Loading page />;
  const next = steps.find((s) => !s.done);
  const shown = open || next?.key || '';
  const done = steps.filter((s) => s.done).length;
  return (
    <>
      <Head title="First steps" sub={next ? 'Four steps, in any order. Each is marked as done when it happened.' : 'All steps are done.'}>
        <span className="row plain small soft">
          <span className="meter" style={{ width: '7rem' }} aria-hidden>
            <i style={{ width: `${(done / steps.length) * 100}%` }} />
          </span>
          {done} of {steps.length}
        </span>
      </Head>
      <div className="stack">
        {steps.map((s, i) => (
          <Step key={s.key} step={s} number={i + 1} open={shown === s.key} toggle={() => setOpen(shown === s.key ? 'none' : s.key)} />
        ))}
      </div>
      <div className="acts">
        <Button component={Link} href="/" variant={next ? 'default' : 'filled'}>
          Go to the overview
        </Button>
      </div>
    </>
  );
}

function Step({ step, number, open, toggle }: { step: FirstStep; number: number; open: boolean; toggle: () => void }) {
  const me = useMe().data;
  const may = !step.needs || can(me, step.needs);
  const inside: Record<FirstStep['key'], ReactNode> = {
    call: <TryAdd />,
    server: (
      <div className="stack">
        <p className="soft">Junctor tests the connection and shows the tools with their cost in tokens before it adds the server.</p>
        <div className="acts">
          <Button component={Link} href="/servers/add">
            From a URL
          </Button>
          <Button component={Link} href="/servers/add?how=command" variant="default">
            From a command
          </Button>
          <Button component={Link} href="/servers/add?how=mcp.json" variant="default">
            From an mcp.json
          </Button>
        </div>
      </div>
    ),
    client: <ConnectClient />,
    agent: (
      <div className="stack">
        <p className="soft">An agent sees only its allowed tools, on every endpoint. It gets its own key and endpoint.</p>
        <div className="acts">
          <Button component={Link} href="/agents?new=1">
            Create an agent
          </Button>
        </div>
      </div>
    ),
  };
  return (
    <section className="panel trace">
      <button type="button" aria-expanded={open} onClick={toggle}>
        <span className={`mark ${step.done ? 'done' : ''}`}>{step.done ? <Check size={12} strokeWidth={3} /> : number}</span>
        <span className="grow">
          <b>{step.name}</b> <span className="small soft">{step.text}</span>
        </span>
        {step.done && <Tag tone="good">done</Tag>}
      </button>
      {open && <div className="pad">{may ? inside[step.key] : <p className="soft">Your role does not allow this. Ask an admin.</p>}</div>}
    </section>
  );
}

const add: Target = { kind: 'tool', name: 'demo__add', server: '', title: '', about: '', schema: {} };

function TryAdd() {
  const [a, setA] = useState<number | string>(2);
  const [b, setB] = useState<number | string>(40);
  const run = useRun(keyOf(add));
  const past = useRecordRun();
  const text = run.answer ? String(blocksOf(run.answer.result)[0]?.text ?? '') : '';
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        void start(add, { a: Number(a), b: Number(b) }, past);
      }}
    >
      <div className="row" style={{ alignItems: 'flex-end' }}>
        <NumberInput label="a" value={a} onChange={setA} hideControls style={{ width: '6rem' }} />
        <NumberInput label="b" value={b} onChange={setB} hideControls style={{ width: '6rem' }} />
        <Button type="submit" leftSection={<Play size={15} />} loading={run.busy}>
          Call demo__add
        </Button>
      </div>
      {run.error ? <ErrorCard error={run.error} /> : null}
      {run.answer && (
        <p className="row" aria-live="polite">
          <code>{text}</code> <span className="soft small">after {span(run.answer.duration_ns)}</span>
          {run.answer.call && (
            <Link className="link small" href={`/calls/${run.answer.call}`}>
              Call details
            </Link>
          )}
        </p>
      )}
      <p className="small soft">
        Every tool has a form like this in the{' '}
        <Link className="link" href="/playground?name=demo__add">
          playground
        </Link>
        .
      </p>
    </form>
  );
}

function ConnectClient() {
  const feed = useFeed();
  return (
    <div className="stack">
      <p className="soft">On the machine of this instance one command puts Junctor into a client’s configuration, with a key of its own:</p>
      <Code>{'junctor connect claude-code   # or claude-desktop, cursor, vscode, gemini, windsurf, codex'}</Code>
      <p className="soft">
        On another machine, give any MCP client this URL and a{' '}
        <Link className="link" href="/settings?tab=keys">
          key
        </Link>
        :
      </p>
      <Code label="Copy the URL">{`${instanceURL()}/mcp`}</Code>
      <p className="row small soft">
        <span className={`dot ${feed.live ? 'live' : 'off'}`} /> Waiting for the first call of your client. It appears here automatically.
      </p>
    </div>
  );
}
