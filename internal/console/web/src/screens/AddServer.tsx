import { Button, Checkbox, Loader, NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Check, TerminalSquare, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { Failure, type Probe, type Schemas, send } from '../api/client';
import { Head, Panel, Scroll, Tabs, Tag } from '../parts/bits';
import { parseEnv, splitCommand, suggestID } from '../parts/command';
import { count } from '../parts/format';
import { type Found, parseMcpJson } from '../parts/mcpjson';
import { ErrorCard } from '../parts/states';
import { useParam } from '../parts/url';

export default function AddServer() {
  const [how, setHow] = useParam('how', 'url');
  return (
    <>
      <Head title="Add a server" sub="It is reached first. What was not reached is not added." crumbs={[['Servers', '/servers']]} />
      <Tabs
        label="What you have"
        now={how}
        choose={setHow}
        tabs={[
          ['url', 'A URL'],
          ['command', 'A command'],
          ['mcp.json', 'An mcp.json'],
        ]}
      />
      {how === 'mcp.json' ? <Import /> : <One key={how} command={how === 'command'} />}
    </>
  );
}

type Body = Schemas['NewServerBody'];
type Auth = NonNullable<Body['auth']>;

// Consent shows a command word by word: what runs is exactly this.
function Consent({
  words,
  env,
  checked,
  setChecked,
}: {
  words: string[];
  env?: Record<string, string>;
  checked: boolean;
  setChecked: (c: boolean) => void;
}) {
  return (
    <div className="stack tight">
      <div className="code">
        <pre>
          {words.map((w, i) => (
            <span key={i}>
              <span className="soft">{i === 0 ? 'program  ' : `word ${String(i).padEnd(4)}`}</span>
              {w === '' ? '(empty)' : w}
              {'\n'}
            </span>
          ))}
          {Object.keys(env ?? {}).map((k) => (
            <span key={k}>
              <span className="soft">env{'      '}</span>
              {k}=•••{'\n'}
            </span>
          ))}
        </pre>
      </div>
      <Checkbox
        label="I want the machine of this instance to run exactly this, with the rights that the instance has."
        checked={checked}
        onChange={(e) => setChecked(e.currentTarget.checked)}
      />
    </div>
  );
}

function One({ command }: { command: boolean }) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const [url, setURL] = useState('');
  const [line, setLine] = useState('');
  const [env, setEnv] = useState('');
  const [id, setID] = useState('');
  const [auth, setAuth] = useState<Auth['type']>('none');
  const [secret, setSecret] = useState('');
  const [header, setHeader] = useState('');
  const [username, setUsername] = useState('');
  const [isPrivate, setPrivate] = useState(false);
  const [agreed, setAgreed] = useState(false);
  const [busy, setBusy] = useState('');
  const [probe, setProbe] = useState<Probe | null>(null);
  const [error, setError] = useState<unknown>(null);

  const split = splitCommand(line);
  const vars = parseEnv(env);
  const name = id || (command ? suggestID(split.words) : url ? suggestID([url]) : '');
  const given = command ? split.words.length > 0 && !split.problem && !vars.problem : /^https?:\/\/[^/]/.test(url);
  const ready = given && (!command || agreed);

  const body = (): Body => {
    const b: Body = command ? { id: name, transport: 'stdio', command: split.words } : { id: name, url };
    if (command && Object.keys(vars.env).length > 0) b.env = vars.env;
    if (!command && auth !== 'none')
      b.auth = { type: auth, secret, ...(auth === 'api-key' && header ? { header } : {}), ...(auth === 'basic' ? { username } : {}) };
    if (isPrivate) b.private = true;
    return b;
  };
  // What was changed since has to be looked at again.
  const changed = () => {
    setProbe(null);
    setError(null);
  };
  const act = async (what: 'try' | 'add') => {
    setBusy(what);
    setError(null);
    try {
      if (what === 'try') setProbe(await send<Probe>('POST', '/servers/probe', body()));
      else {
        await send('POST', '/servers', body());
        await Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
        navigate(`/servers/${name}`);
      }
    } catch (err) {
      setError(err);
    }
    setBusy('');
  };

  return (
    <div className="columns wide-left">
      <Panel pad>
        <form
          className="stack"
          onSubmit={(e) => {
            e.preventDefault();
            if (ready) void act(probe && !probe.failed ? 'add' : 'try');
          }}
        >
          {command ? (
            <>
              <TextInput
                label="Command"
                placeholder="npx -y @modelcontextprotocol/server-filesystem /srv/files"
                value={line}
                error={split.problem}
                styles={{ input: { fontFamily: 'var(--mono)' } }}
                onChange={(e) => {
                  setLine(e.currentTarget.value);
                  setAgreed(false);
                  changed();
                }}
              />
              <Textarea
                label="Environment"
                description="NAME=value, a line each. Values are kept sealed."
                autosize
                minRows={2}
                placeholder="API_TOKEN=…"
                value={env}
                error={vars.problem}
                styles={{ input: { fontFamily: 'var(--mono)' } }}
                onChange={(e) => {
                  setEnv(e.currentTarget.value);
                  setAgreed(false);
                  changed();
                }}
              />
            </>
          ) : (
            <>
              <TextInput
                label="URL"
                placeholder="https://notes.example.com/mcp"
                value={url}
                onChange={(e) => {
                  setURL(e.currentTarget.value.trim());
                  changed();
                }}
              />
              <NativeSelect
                label="How it knows Junctor"
                value={auth}
                data={[
                  { value: 'none', label: 'It asks for nothing' },
                  { value: 'bearer', label: 'Bearer token' },
                  { value: 'api-key', label: 'API key in a header' },
                  { value: 'basic', label: 'Name and password' },
                ]}
                onChange={(e) => {
                  setAuth(e.currentTarget.value as Auth['type']);
                  changed();
                }}
              />
              {auth === 'api-key' && (
                <TextInput label="Header" placeholder="X-API-Key" value={header} onChange={(e) => setHeader(e.currentTarget.value)} />
              )}
              {auth === 'basic' && <TextInput label="Name" value={username} onChange={(e) => setUsername(e.currentTarget.value)} />}
              {auth !== 'none' && (
                <PasswordInput
                  label={auth === 'basic' ? 'Password' : 'Secret'}
                  description="Kept sealed, and sent to this address alone."
                  value={secret}
                  autoComplete="off"
                  onChange={(e) => {
                    setSecret(e.currentTarget.value);
                    changed();
                  }}
                />
              )}
            </>
          )}
          <TextInput
            label="Id"
            description="Its tools are shown as id__name."
            placeholder={name || 'notes'}
            value={id}
            onChange={(e) => setID(e.currentTarget.value)}
            error={
              name && !/^[a-z][a-z0-9-]{0,31}$/.test(name)
                ? 'A lower-case letter, then up to 31 lower-case letters, digits or hyphens.'
                : undefined
            }
          />
          <Checkbox label="Only I see it" checked={isPrivate} onChange={(e) => setPrivate(e.currentTarget.checked)} />
          {command && given && <Consent words={split.words} env={vars.env} checked={agreed} setChecked={setAgreed} />}
          <div className="acts">
            <Button
              type="submit"
              variant={probe && !probe.failed ? 'default' : 'filled'}
              disabled={!ready || busy !== ''}
              loading={busy === 'try'}
              onClick={(e) => {
                e.preventDefault();
                void act('try');
              }}
            >
              Reach it
            </Button>
            <Button disabled={!ready || busy !== '' || !probe || !!probe.failed} loading={busy === 'add'} onClick={() => act('add')}>
              Add {name || 'it'}
            </Button>
          </div>
          {error !== null && <ErrorCard error={error} />}
        </form>
      </Panel>
      <div className="stack">
        <Panel title="The way there" pad>
          <Way probe={probe} busy={busy === 'try'} command={command} />
        </Panel>
        {probe && !probe.failed && <Preview probe={probe} />}
      </div>
    </div>
  );
}

const steps: [string, string, string][] = [
  ['address', 'The address answers', 'The command starts'],
  ['tls', 'TLS is in order', ''],
  ['http', 'It speaks HTTP', ''],
  ['authentication', 'It lets Junctor in', ''],
  ['protocol', 'It speaks MCP', 'It speaks MCP'],
  ['list', 'It lists what it has', 'It lists what it has'],
];

export function Way({ probe, busy, command }: { probe: Probe | null; busy: boolean; command: boolean }) {
  return (
    <ol className="steps" aria-live="polite">
      {steps
        .map(([key, http, stdio]) => ({ key, name: command ? stdio : http }))
        .filter((s) => s.name && (s.key !== 'tls' || !probe || probe.passed.includes('tls') || probe.failed === 'tls'))
        .map((s, i) => {
          const done = probe?.passed.includes(s.key);
          const broke = probe?.failed === s.key;
          return (
            <li key={s.key}>
              <span className={`mark ${done ? 'done' : broke ? 'bad' : ''}`}>
                {done ? (
                  <Check size={12} strokeWidth={3} />
                ) : broke ? (
                  <X size={12} strokeWidth={3} />
                ) : busy && i === 0 ? (
                  <Loader size={10} />
                ) : (
                  i + 1
                )}
              </span>
              <span className="grow">
                <span className={done || broke ? '' : 'soft'}>{s.name}</span>
                {broke && (
                  <span className="small wrap" style={{ display: 'block' }}>
                    <span style={{ color: 'var(--bad)' }}>{probe?.reason}</span>
                    {probe?.hint && <span className="soft"> {probe.hint}</span>}
                  </span>
                )}
              </span>
            </li>
          );
        })}
      {probe && !probe.failed && (
        <li className="small soft" style={{ paddingLeft: '1.875rem' }}>
          {probe.status.name} {probe.status.release} · MCP {probe.status.protocol} · {probe.status.latency_ms?.toFixed(0)} ms
        </li>
      )}
    </ol>
  );
}

export function Preview({ probe }: { probe: Probe }) {
  const tools = probe.preview ?? [];
  const all = tools.reduce((n, t) => n + t.tokens, 0);
  return (
    <Panel
      title={`${count(tools.length)} tools`}
      acts={
        <span className="small soft">
          about {count(all)} tokens · {probe.status.resources} resources · {probe.status.prompts} prompts
        </span>
      }
    >
      <Scroll label="Its tools" className="rows" height="24rem">
        {tools.map((t) => (
          <div key={t.name}>
            <span className="grow">
              <span className="mono cut" style={{ display: 'block' }}>
                {t.name}
              </span>
              <span className="tiny soft cut" style={{ display: 'block' }}>
                {t.description}
              </span>
            </span>
            <span className="tiny soft num">{count(t.tokens)}</span>
          </div>
        ))}
      </Scroll>
    </Panel>
  );
}

interface Line extends Found {
  chosen: boolean;
  outcome?: 'busy' | 'added';
  error?: unknown;
}

function Import() {
  const cache = useQueryClient();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const [lines, setLines] = useState<Line[]>([]);
  const [agreed, setAgreed] = useState(false);
  const [busy, setBusy] = useState(false);

  const read = (t: string) => {
    setText(t);
    setAgreed(false);
    const { found, problem } = t.trim() ? parseMcpJson(t) : { found: [], problem: '' };
    setProblem(problem ?? '');
    setLines(found.map((f) => ({ ...f, chosen: !f.problem })));
  };
  const change = (i: number, c: Partial<Line>) => setLines((all) => all.map((l, j) => (j === i ? { ...l, ...c } : l)));
  const chosen = lines.filter((l) => l.chosen && l.outcome !== 'added');
  const commands = chosen.filter((l) => l.command);

  const add = async () => {
    setBusy(true);
    for (const [i, l] of lines.entries()) {
      if (!l.chosen || l.outcome === 'added') continue;
      change(i, { outcome: 'busy', error: undefined });
      try {
        const { id, url, transport, command, env, headers, cwd } = l;
        await send('POST', '/servers', { id, url, transport, command, env, headers, cwd });
        change(i, { outcome: 'added' });
      } catch (error) {
        change(i, { outcome: undefined, error });
      }
    }
    await Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
    setBusy(false);
  };

  const mark = (l: Line): ReactNode => {
    if (l.outcome === 'busy') return <Loader size={14} />;
    if (l.outcome === 'added') return <Tag tone="good">added</Tag>;
    if (l.problem) return <Tag tone="warn">{l.problem}</Tag>;
    if (l.error) return <Tag tone="bad">{l.error instanceof Failure ? (l.error.problem.step ?? l.error.problem.code) : 'failed'}</Tag>;
    return null;
  };

  return (
    <div className="columns">
      <Panel pad>
        <div className="stack editor">
          <Textarea
            label="The configuration of an MCP client"
            description="Claude, Cursor, VS Code, Windsurf, Gemini: whatever has mcpServers. It stays in this page; servers are made of it."
            autosize
            minRows={10}
            maxRows={24}
            placeholder={'{\n  "mcpServers": {\n    "files": { "command": "npx", "args": ["-y", "…"] }\n  }\n}'}
            value={text}
            error={problem || undefined}
            onChange={(e) => read(e.currentTarget.value)}
          />
          <input
            type="file"
            accept=".json,application/json"
            aria-label="Or choose the file"
            onChange={(e) => e.currentTarget.files?.[0]?.text().then(read)}
          />
        </div>
      </Panel>
      <Panel title={lines.length ? `${lines.length} found` : 'What is in it'}>
        {lines.length === 0 ? (
          <p className="pad soft">Paste it on the left. Nothing is added before you say so.</p>
        ) : (
          <>
            <div className="rows">
              {lines.map((l, i) => (
                <div key={l.name} style={{ alignItems: 'flex-start' }}>
                  <Checkbox
                    aria-label={`Add ${l.name}`}
                    mt={2}
                    checked={l.chosen}
                    disabled={!!l.problem || l.outcome === 'added' || busy}
                    onChange={(e) => {
                      change(i, { chosen: e.currentTarget.checked });
                      setAgreed(false);
                    }}
                  />
                  <span className="grow stack tight">
                    <span className="row">
                      <b>{l.id}</b> {l.command && <TerminalSquare size={14} aria-label="a command" />} {mark(l)}
                    </span>
                    <code className="tiny soft wrap">
                      {l.url ?? l.command?.map((w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : JSON.stringify(w))).join(' ')}
                    </code>
                    {l.error ? <ErrorCard error={l.error} /> : null}
                  </span>
                </div>
              ))}
            </div>
            <div className="pad stack" style={{ borderTop: '1px solid var(--line-soft)' }}>
              {commands.length > 0 && (
                <Checkbox
                  label={`I want the machine of this instance to run exactly ${commands.length === 1 ? 'the command' : `the ${commands.length} commands`} above.`}
                  checked={agreed}
                  onChange={(e) => setAgreed(e.currentTarget.checked)}
                />
              )}
              <Button disabled={chosen.length === 0 || (commands.length > 0 && !agreed)} loading={busy} onClick={add}>
                Reach and add {chosen.length || ''}
              </Button>
            </div>
          </>
        )}
      </Panel>
    </div>
  );
}
