import { Button, NumberInput } from '@mantine/core';
import { Check, Play } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { useMe } from '../api/data';
import { useFeed } from '../api/feed';
import { can } from '../app/may';
import { Head, Tag } from '../parts/bits';
import { home } from '../parts/doors';
import { span } from '../parts/format';
import { Code } from '../parts/Json';
import { blocksOf } from '../parts/Result';
import { ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';
import { keyOf, start, type Target, usePast, useRun } from './playground/run';
import { type FirstStep, useFirstSteps } from './start/steps';

// Start leads through the first minutes. A step ticks itself off when it really
// happened, wherever it happened.
export default function Start() {
  const steps = useFirstSteps();
  const [open, setOpen] = useParam('step');
  if (!steps) return <Loading page />;
  const next = steps.find((s) => !s.done);
  const shown = open || next?.key || '';
  const done = steps.filter((s) => s.done).length;
  return (
    <>
      <Head
        title="First steps"
        sub={next ? 'Four things, in any order. Each ticks itself off when it really happened.' : 'All done: it is yours now.'}
      >
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
          To the overview
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
        <p className="soft">
          It is reached first, step by step, and its tools are shown with what they cost a model before anything is added.
        </p>
        <div className="acts">
          <Button component={Link} href="/servers/add">
            By its URL
          </Button>
          <Button component={Link} href="/servers/add?how=command" variant="default">
            By a command
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
        <p className="soft">
          An agent sees the tools on its list and nothing else, through every door. It gets a key and an address of its own.
        </p>
        <div className="acts">
          <Button component={Link} href="/agents?new=1">
            Make an agent
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
      {open && <div className="pad">{may ? inside[step.key] : <p className="soft">Your role may not; ask an admin.</p>}</div>}
    </section>
  );
}

const add: Target = { kind: 'tool', name: 'demo__add', server: '', title: '', about: '', schema: {} };

function TryAdd() {
  const [a, setA] = useState<number | string>(2);
  const [b, setB] = useState<number | string>(40);
  const run = useRun(keyOf(add));
  const past = usePast();
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
              See its way, gate by gate
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
        From elsewhere, any MCP client takes this address and a{' '}
        <Link className="link" href="/settings?tab=keys">
          key
        </Link>
        :
      </p>
      <Code label="Copy the address">{`${home()}/mcp`}</Code>
      <p className="row small soft">
        <span className={`dot ${feed.live ? 'live' : 'off'}`} /> Waiting for its first call. It shows up here by itself.
      </p>
    </div>
  );
}
