import { ActionIcon, Button, Menu, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import { Bookmark, History, Play, RotateCcw, Square, Trash2 } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { Failure, type Problem, type Tool } from '../api/client';
import { useOffer, useServers, useTools } from '../api/data';
import { stream } from '../api/events';
import { Ago, Head, Panel, Tabs, Tag } from '../parts/bits';
import { home } from '../parts/doors';
import { span } from '../parts/format';
import { Code } from '../parts/Json';
import { Result } from '../parts/Result';
import { SchemaForm } from '../parts/SchemaForm';
import { check, initial, type Schema, type Wrong } from '../parts/schema';
import { matches } from '../parts/search';
import { snippets } from '../parts/snippets';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { useKept } from '../parts/store';
import { useParam } from '../parts/url';
import { type Ask, Questions } from './Questions';

type Kind = 'tool' | 'resource' | 'prompt';

interface Target {
  kind: Kind;
  name: string;
  server: string; // "" where name is the exposed one
  title: string;
  about: string;
  schema: Schema;
}

interface RunResult {
  result: Record<string, unknown> & { inputRequests?: Record<string, Ask>; requestState?: string };
  is_error?: boolean;
  input?: boolean;
  task?: boolean;
  duration_ns: number;
}

interface Past {
  at: string;
  kind: Kind;
  name: string;
  server: string;
  args: unknown;
  outcome: string;
  ns: number;
}

interface Run {
  busy: boolean;
  progress?: { progress: number; total?: number; message?: string };
  log: { level: string; text: string }[];
  answer?: RunResult;
  error?: unknown;
}

export default function Playground() {
  const [kind, setKind] = useParam('kind', 'tool');
  const [name, setName] = useParam('name');
  const [server, setServer] = useParam('server');
  const targets = useTargets(kind as Kind, server);
  const target = targets.list?.find((t) => t.name === name);
  return (
    <>
      <Head title="Playground" sub="Try what there is, as yourself: the same gates, limits and records as on every door.">
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
      <div className="columns" style={{ gridTemplateColumns: undefined }}>
        <div className="stack">
          <Chooser kind={kind as Kind} targets={targets} name={name} choose={setName} server={server} setServer={setServer} />
          {target && <Trial.Form key={`${kind} ${server} ${name}`} target={target} />}
        </div>
        <div className="stack" id="outcome">
          {target ? (
            <Trial.Outcome target={target} />
          ) : (
            <Panel>
              <Empty icon={<Play size={28} strokeWidth={1.5} aria-hidden />} title="Choose something to try">
                What it gives back is shown here.
              </Empty>
            </Panel>
          )}
          <Pasts />
        </div>
      </div>
    </>
  );
}

function useTargets(kind: Kind, server: string) {
  const tools = useTools();
  const offer = useOffer(server || 'demo');
  const list = useMemo((): Target[] | undefined => {
    if (kind === 'tool')
      return tools.data?.map((t: Tool) => ({
        kind,
        name: t.exposed,
        server: '',
        title: t.title ?? '',
        about: t.description ?? '',
        schema: t.input_schema as Schema,
      }));
    if (!offer.data) return undefined;
    const own = server || 'demo';
    if (kind === 'prompt')
      return offer.data.prompts.map((p) => {
        const args = (Array.isArray(p.arguments) ? p.arguments : []) as { name: string; description?: string; required?: boolean }[];
        return {
          kind,
          name: String(p.name),
          server: own,
          title: String(p.title ?? ''),
          about: String(p.description ?? ''),
          schema: {
            type: 'object',
            properties: Object.fromEntries(args.map((a) => [a.name, { type: 'string', description: a.description }])),
            required: args.filter((a) => a.required).map((a) => a.name),
          },
        };
      });
    return [...offer.data.resources, ...offer.data.templates].map((r) => {
      const uri = String(r.uri ?? r.uriTemplate ?? '');
      const holes = r.uri ? [] : [...uri.matchAll(/\{([^}]+)\}/g)].map((m) => (m[1] ?? '').replace(/^[+#./;?&]/, ''));
      return {
        kind,
        name: uri,
        server: own,
        title: String(r.title ?? r.name ?? ''),
        about: String(r.description ?? ''),
        schema: {
          type: 'object',
          properties: Object.fromEntries(holes.map((h) => [h, { type: 'string' }])),
          required: holes,
          additionalProperties: false,
        },
      };
    });
  }, [kind, server, tools.data, offer.data]);
  const source = kind === 'tool' ? tools : offer;
  return { list, error: source.error, refetch: source.refetch };
}

function Chooser({
  kind,
  targets,
  name,
  choose,
  server,
  setServer,
}: {
  kind: Kind;
  targets: ReturnType<typeof useTargets>;
  name: string;
  choose: (n: string) => void;
  server: string;
  setServer: (s: string) => void;
}) {
  const servers = useServers();
  const [q, setQ] = useState('');
  const [open, setOpen] = useState(false);
  const chosen = targets.list?.find((t) => t.name === name);
  const found = useMemo(() => (targets.list ?? []).filter((t) => matches(q, t.name, t.title, t.about)).slice(0, 60), [targets.list, q]);
  const showList = open || !chosen;
  if (targets.error) return <ErrorCard error={targets.error} retry={() => targets.refetch()} />;
  return (
    <Panel>
      {kind !== 'tool' && (
        <div className="pad row" style={{ paddingBottom: 0 }}>
          <span className="small soft">of</span>
          {servers.data?.map((s) => (
            <Button
              key={s.id}
              size="compact-sm"
              variant={(server || 'demo') === s.id ? 'light' : 'subtle'}
              color={(server || 'demo') === s.id ? undefined : 'gray'}
              onClick={() => {
                setServer(s.id);
                choose('');
              }}
            >
              {s.id}
            </Button>
          ))}
        </div>
      )}
      {showList ? (
        <>
          <div className="pad" style={{ paddingBottom: '0.5rem' }}>
            <TextInput
              placeholder={`Find a ${kind}`}
              aria-label={`Find a ${kind}`}
              value={q}
              onChange={(e) => setQ(e.currentTarget.value)}
              onKeyDown={(e) => {
                if (e.key === 'Enter' && found[0]) {
                  choose(found[0].name);
                  setOpen(false);
                }
              }}
            />
          </div>
          {!targets.list ? (
            <Loading />
          ) : (
            <div className="palette-list" style={{ maxHeight: '20rem' }}>
              {found.map((t) => (
                <button
                  key={t.name}
                  type="button"
                  aria-selected={t.name === name}
                  role="option"
                  onClick={() => {
                    choose(t.name);
                    setOpen(false);
                  }}
                >
                  <span className="mono cut" style={{ flex: 'none', maxWidth: '55%' }}>
                    {t.name}
                  </span>
                  <span className="cut soft small grow">{t.about || t.title}</span>
                </button>
              ))}
              {found.length === 0 && <p className="soft pad">There is none{q ? ' that is called so' : ''}.</p>}
            </div>
          )}
        </>
      ) : (
        <div className="pad row plain" style={{ alignItems: 'flex-start' }}>
          <div className="grow">
            <div className="row">
              <b className="mono cut">{chosen.name}</b>
              {kind === 'tool' && (
                <Link className="link small" href={`/tools/${encodeURIComponent(chosen.name)}`}>
                  about
                </Link>
              )}
            </div>
            <p className="small soft wrap" style={{ maxHeight: '6rem', overflow: 'auto' }}>
              {chosen.about}
            </p>
          </div>
          <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
            Choose another
          </Button>
        </div>
      )}
    </Panel>
  );
}

// The form and the outcome stand in two columns and share one run.
const idle: Run = { busy: false, log: [] };
let run: Run = idle;
let runOf = '';
const watching = new Set<() => void>();
function setRun(of: string, change: (r: Run) => Run) {
  run = change(runOf === of ? run : idle);
  runOf = of;
  for (const w of watching) w();
}
function useRun(of: string): Run {
  const [, draw] = useState(0);
  useEffect(() => {
    const w = () => draw((n) => n + 1);
    watching.add(w);
    return () => {
      watching.delete(w);
    };
  }, []);
  return runOf === of ? run : idle;
}
const keyOf = (t: { kind: string; server: string; name: string }) => `${t.kind} ${t.server} ${t.name}`;

let abort: AbortController | undefined;
let lastArgs: unknown = {};

const fill = (template: string, args: Record<string, unknown>) =>
  template.replace(/\{([+#./;?&])?([^}]+)\}/g, (_, _op, hole: string) => encodeURIComponent(String(args[hole] ?? '')));

async function start(t: Target, args: unknown, past: (p: Past) => void, more: Record<string, unknown> = {}) {
  const of = keyOf(t);
  abort?.abort();
  const control = new AbortController();
  abort = control;
  lastArgs = args;
  setRun(of, (r) => ({ busy: true, log: more.request_state ? r.log : [] }));
  const begun = performance.now();
  const note = (outcome: string) =>
    past({
      at: new Date().toISOString(),
      kind: t.kind,
      name: t.name,
      server: t.server,
      args,
      outcome,
      ns: (performance.now() - begun) * 1e6,
    });
  const body: Record<string, unknown> = {
    kind: t.kind,
    name: t.kind === 'resource' ? fill(t.name, (args ?? {}) as Record<string, unknown>) : t.name,
    ...more,
  };
  if (t.server) body.server = t.server;
  if (t.kind !== 'resource') body.arguments = args;
  try {
    await stream('POST', '/run', body, control.signal, (e) => {
      const data = JSON.parse(e.data) as unknown;
      if (e.name === 'progress') setRun(of, (r) => ({ ...r, progress: data as Run['progress'] }));
      else if (e.name === 'log') {
        const l = data as { level: string; params: { data?: unknown } };
        const text = typeof l.params.data === 'string' ? l.params.data : JSON.stringify(l.params.data ?? l.params);
        setRun(of, (r) => ({ ...r, log: [...r.log, { level: l.level, text }].slice(-200) }));
      } else if (e.name === 'result') {
        const answer = data as RunResult;
        setRun(of, (r) => ({ ...r, busy: false, answer }));
        note(answer.input ? 'asked' : answer.is_error ? 'error' : 'success');
      } else if (e.name === 'error') throw new Failure(data as Problem, 'POST /run');
    });
    setRun(of, (r) =>
      r.busy
        ? {
            ...r,
            busy: false,
            error: new Failure({ code: 'unreachable', detail: 'The answer ended before the result came.' }, 'POST /run'),
          }
        : r,
    );
  } catch (error) {
    if (control.signal.aborted) {
      if (abort === control)
        setRun(of, (r) => ({
          ...r,
          busy: false,
          error: new Failure(
            { code: 'canceled', detail: 'You cancelled it; the server was told.', hint: 'Call it again whenever you like.' },
            'POST /run',
          ),
        }));
      note('canceled');
      return;
    }
    setRun(of, (r) => ({ ...r, busy: false, error }));
    note(error instanceof Failure ? error.problem.code : 'failed');
  }
}

const usePasts = () => useKept<Past[]>(sessionStorage, 'junctor-runs', []);
function usePast() {
  const [pasts, setPasts] = usePasts();
  const now = useRef(pasts);
  now.current = pasts;
  return (p: Past) => setPasts([p, ...now.current].slice(0, 30));
}

function Form({ target }: { target: Target }) {
  const of = keyOf(target);
  const state = useRun(of);
  const past = usePast();
  const [draft, setDraft] = useKept<{ text: string } | null>(sessionStorage, `junctor-args ${of}`, null);
  const [saved, setSaved] = useKept<Record<string, unknown>>(localStorage, `junctor-saved ${of}`, {});
  const [how, setHow] = useParam('as', 'form');
  const text = draft?.text ?? JSON.stringify(initial(target.schema) ?? {}, null, 2);
  const { value, problem } = useMemo(() => parse(text), [text]);
  const wrong = useMemo((): Wrong[] => (problem ? [] : check(value, target.schema)), [value, problem, target.schema]);
  const fits = !problem && wrong.length === 0;
  const call = () => void start(target, value, past);
  const names = Object.keys(saved);

  return (
    <Panel
      title={target.kind === 'tool' ? 'Arguments' : target.kind === 'prompt' ? 'Arguments' : 'Address'}
      acts={
        <>
          <Menu position="bottom-end" width="14rem">
            <Menu.Target>
              <ActionIcon aria-label="Saved examples">
                <Bookmark size={15} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item
                onClick={() => {
                  const n = `Example ${names.length + 1}`;
                  setSaved({ ...saved, [n]: value });
                }}
                disabled={!!problem}
              >
                Save these arguments
              </Menu.Item>
              {names.length > 0 && <Menu.Divider />}
              {names.map((n) => (
                <Menu.Item
                  key={n}
                  onClick={() => setDraft({ text: JSON.stringify(saved[n], null, 2) })}
                  rightSection={
                    <Trash2
                      size={13}
                      aria-label={`Forget ${n}`}
                      onClick={(e) => {
                        e.stopPropagation();
                        const { [n]: _, ...rest } = saved;
                        setSaved(rest);
                      }}
                    />
                  }
                >
                  <span className="cut" style={{ display: 'block' }}>
                    {n} <span className="tiny soft mono">{JSON.stringify(saved[n])}</span>
                  </span>
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
          <ActionIcon aria-label="Begin anew" onClick={() => setDraft(null)}>
            <RotateCcw size={15} />
          </ActionIcon>
          <SegmentedControl
            size="xs"
            aria-label="How to write them"
            value={how}
            onChange={setHow}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
          />
        </>
      }
      pad
    >
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (fits && !state.busy) call();
        }}
      >
        {how === 'form' && !problem ? (
          <SchemaForm schema={target.schema} value={value} wrong={wrong} change={(v) => setDraft({ text: JSON.stringify(v, null, 2) })} />
        ) : (
          <div className="editor">
            <Textarea
              aria-label="Arguments as JSON"
              autosize
              minRows={5}
              maxRows={24}
              spellCheck={false}
              value={text}
              error={problem}
              onChange={(e) => setDraft({ text: e.currentTarget.value })}
              onKeyDown={(e) => {
                if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && fits) call();
              }}
            />
          </div>
        )}
        {how === 'json' && wrong.length > 0 && (
          <ul className="small" style={{ margin: 0, paddingLeft: '1.125rem', color: 'var(--bad)' }}>
            {wrong.slice(0, 8).map((w, i) => (
              <li key={i}>
                <code>{w.pointer || '/'}</code> {w.message}
              </li>
            ))}
          </ul>
        )}
        <div className="acts">
          <Button type="submit" leftSection={<Play size={15} />} disabled={!fits || state.busy}>
            {target.kind === 'tool' ? 'Call it' : target.kind === 'prompt' ? 'Get it' : 'Read it'}
          </Button>
          {state.busy && (
            <Button variant="default" color="red" leftSection={<Square size={13} />} onClick={() => abort?.abort()}>
              Cancel
            </Button>
          )}
          {!fits && !problem && <span className="small soft">{missing(wrong)}</span>}
        </div>
      </form>
      {target.kind === 'tool' && <Elsewhere name={target.name} args={value} />}
    </Panel>
  );
}

function parse(text: string): { value: unknown; problem?: string } {
  try {
    return { value: text.trim() === '' ? {} : JSON.parse(text) };
  } catch (err) {
    return { value: {}, problem: (err as Error).message };
  }
}

const missing = (wrong: Wrong[]) => {
  const w = wrong[0];
  return w ? `${w.pointer.slice(1) || 'It'} ${w.message}${wrong.length > 1 ? `, and ${wrong.length - 1} more` : ''}.` : '';
};

function Elsewhere({ name, args }: { name: string; args: unknown }) {
  const [lang, setLang] = useKept(localStorage, 'junctor-language', 'curl');
  const chosen = snippets.find(([k]) => k === lang) ?? snippets[0];
  return (
    <details style={{ marginTop: '0.875rem' }}>
      <summary className="small soft">The same from elsewhere</summary>
      <div className="stack" style={{ marginTop: '0.5rem' }}>
        <Tabs label="Language" now={lang} choose={setLang} tabs={snippets.map(([k, n]) => [k, n])} />
        {chosen && <Code label="Copy the code">{chosen[2]({ origin: home(), name, args })}</Code>}
      </div>
    </details>
  );
}

function Outcome({ target }: { target: Target }) {
  const state = useRun(keyOf(target));
  const past = usePast();
  const [tab, setTab] = useParam('show', 'content');
  const answer = state.answer;
  const asks = answer?.input ? (answer.result.inputRequests ?? {}) : {};
  return (
    <Panel
      title="Outcome"
      acts={
        answer && (
          <span className="row plain small">
            {answer.input ? (
              <Tag tone="act">asks for input</Tag>
            ) : answer.task ? (
              <Tag tone="act">a task</Tag>
            ) : (
              <Tag tone={answer.is_error ? 'bad' : 'good'}>{answer.is_error ? 'the tool failed' : 'success'}</Tag>
            )}
            <span className="soft num">{span(answer.duration_ns)}</span>
          </span>
        )
      }
      pad
    >
      <div className="stack" aria-live="polite" aria-busy={state.busy}>
        {state.busy && <Progress p={state.progress} />}
        {state.log.length > 0 && (
          <details open={state.busy}>
            <summary className="small soft">{state.log.length} messages</summary>
            <Code>{state.log.map((l) => `${l.level.padEnd(8)} ${l.text}`).join('\n')}</Code>
          </details>
        )}
        {state.error ? <ErrorCard error={state.error} /> : null}
        {answer?.input ? (
          <Questions
            asks={asks}
            answer={(responses) =>
              void start(target, lastArgs, past, { input_responses: responses, request_state: answer.result.requestState })
            }
          />
        ) : answer ? (
          <Result result={answer.result} tab={tab} choose={setTab} />
        ) : (
          !state.busy && !state.error && <p className="soft">Nothing yet.</p>
        )}
      </div>
    </Panel>
  );
}

function Progress({ p }: { p: Run['progress'] }) {
  const part = p?.total ? Math.min(1, p.progress / p.total) : undefined;
  return (
    <div className="stack tight" role="status">
      <div className="water">
        <i className={part === undefined ? 'bone' : ''} style={{ left: 0, width: `${(part ?? 1) * 100}%` }} />
      </div>
      <span className="small soft">{p?.message ?? (p ? `${p.progress}${p.total ? ` of ${p.total}` : ''}` : 'It works …')}</span>
    </div>
  );
}

const Trial = { Form, Outcome };

const outcomes: Record<string, 'good' | 'bad' | 'act' | ''> = { success: 'good', error: 'bad', asked: 'act', canceled: '' };

function Pasts() {
  const [pasts, setPasts] = usePasts();
  const [, setKind] = useParam('kind', 'tool');
  const [, setName] = useParam('name');
  const [, setServer] = useParam('server');
  const past = usePast();
  if (pasts.length === 0) return null;
  const load = (p: Past) => {
    sessionStorage.setItem(`junctor-args ${keyOf(p)}`, JSON.stringify({ text: JSON.stringify(p.args ?? {}, null, 2) }));
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
            <button
              type="button"
              className="grow"
              style={{ all: 'unset', cursor: 'pointer', minWidth: 0, flex: 1 }}
              onClick={() => load(p)}
            >
              <span className="mono small cut" style={{ display: 'block' }}>
                {p.name}
              </span>
              <span className="tiny soft mono cut" style={{ display: 'block' }}>
                {JSON.stringify(p.args)}
              </span>
            </button>
            <Tag tone={outcomes[p.outcome] ?? 'warn'}>{p.outcome}</Tag>
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
