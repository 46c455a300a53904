import { Button, Checkbox, Loader, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { TerminalSquare } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useLocation } from 'wouter';
import { Failure, type Schemas, type Server, send } from '../api/client';
import { addLine, guess, joinCommand, parseEnv, splitCommand, suggestID } from '../parts/command';
import { lacks } from '../parts/connection';
import { Head, Panel, Tabs, Tag } from '../parts/elements';
import { faultsOf, unplaced } from '../parts/faults';
import { type Found, parseMcpJson } from '../parts/mcpjson';
import { ErrorCard, Loading } from '../parts/states';
import { useKept } from '../parts/store';
import { useParam } from '../parts/url';
import { useFields } from '../parts/useFields';
import { AuthFields } from './server/AuthFields';
import { CommandsOff, useRunsCommands } from './server/CommandsOff';
import { ConnectionSteps, ToolPreview, useConnectionTest } from './server/ConnectionTest';
import { Consent } from './server/Consent';
import { Advanced, Fields } from './server/Fields';
import { fieldsIn, fieldsOf, patchOf, type ServerFields, type ServerKind, wrongFields } from './server/serverFields';

const AddAPI = lazy(() => import('./api/AddAPI'));

export default function AddServer() {
  const [how, setHow] = useParam('how', 'url');
  // What was written stays while one looks at another way, or at another screen.
  const [texts, setTexts] = useKept<Record<string, string>>(sessionStorage, 'junctor-add', {});
  const write = (kind: string) => (t: string) => setTexts({ ...texts, [kind]: t });
  // Whatever is pasted comes to where it belongs.
  const paste = (t: string): boolean => {
    const kind = guess(t);
    if (kind === how || (kind === 'command' && !/\s/.test(t.trim()))) return false;
    setTexts({ ...texts, [kind]: t.trim() });
    setHow(kind);
    return true;
  };
  return (
    <>
      <Head
        title="Add a server"
        sub="Paste a URL, a command, an mcp.json or the documentation of an API. Junctor tests the connection before it adds the server."
        crumbs={[['Servers', '/servers']]}
      />
      <Tabs
        label="Kind of server"
        now={how}
        choose={setHow}
        tabs={[
          ['url', 'URL'],
          ['command', 'Command'],
          ['mcp.json', 'mcp.json'],
          ['api', 'API'],
        ]}
      />
      {how === 'api' ? (
        <Suspense fallback={<Loading />}>
          <AddAPI text={texts.api ?? ''} />
        </Suspense>
      ) : how === 'mcp.json' ? (
        <Import text={texts['mcp.json'] ?? ''} write={write('mcp.json')} />
      ) : (
        <One key={how} command={how === 'command'} text={texts[how] ?? ''} write={write(how)} paste={paste} />
      )}
    </>
  );
}

type Body = Schemas['NewServerBody'];

// The server before anything of it is entered.
const noURL = { mode: 'bring-your-own', transport: 'http' } as Server;
const noCommand = { mode: 'bring-your-own', transport: 'stdio' } as Server;

// Typed is what somebody typed, beside the URL or the command.
interface Typed {
  edits: Partial<ServerFields>;
  id: string;
  agreed: boolean; // to the command
}

interface OneProps {
  command: boolean;
  text: string;
  write: (t: string) => void;
  paste: (t: string) => boolean;
}

function One({ command, text, write, paste }: OneProps) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const { fields: f, edit } = useFields<Typed>({ edits: {}, id: '', agreed: false });
  const { edits, id, agreed } = f;
  const { test, go, forget } = useConnectionTest();

  const off = !useRunsCommands() && command;
  const kind: ServerKind = command ? 'command' : 'url';
  const nothing = command ? noCommand : noURL;
  const stored = fieldsOf(nothing);
  const fields: ServerFields = { ...stored, ...edits, [kind]: text };
  const wrong = wrongFields(fields, nothing);
  const { auth } = fields;
  const words = splitCommand(command ? text : '').words;
  const env = parseEnv(String(fields.env)).env;
  const name = id || (command ? suggestID(words) : text ? suggestID([text]) : '');
  const named = /^[a-z][a-z0-9-]{0,31}$/.test(name);
  const given = wrong.length === 0 && (command ? words.length > 0 : /^https?:\/\/[^/]/.test(text) && !lacks(auth));
  const body = (): Body => ({ id: name, ...(command ? { transport: 'stdio' } : {}), ...patchOf(fields, nothing) });
  const add = useMutation({
    mutationFn: () => send('POST', '/servers', body()),
    onSuccess: async () => {
      write('');
      await Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
      navigate(`/servers/${name}${auth.type === 'oauth' ? '?tab=sign-in' : ''}`);
    },
  });
  const ready = !off && given && named && (!command || agreed) && !test.busy && !add.isPending;
  const probe = test.probe;
  // People log in once it is there, so that it may be added before.
  const later = auth.type === 'oauth' && probe?.failed === 'authentication';
  const reached = !!probe && (!probe.failed || later);

  const faults = faultsOf(add.error, ['id', kind], 'id');

  // What was changed since has to be looked at again.
  const changed = () => {
    forget();
    add.reset();
  };
  const common = {
    kind,
    fields,
    stored,
    wrong,
    placeholders: { env: 'API_TOKEN=…', title: name },
    change: (part: Partial<ServerFields>) => {
      edit({ edits: { ...edits, ...part }, ...('env' in part || 'cwd' in part ? { agreed: false } : {}) });
      if (!('title' in part)) changed();
    },
  };
  const basic = command ? ['env'] : auth.type === 'none' && fields.credentials === 'shared' ? [] : ['credentials'];
  const advanced = (['connection', 'use', 'advanced'] as const)
    .flatMap((group) => fieldsIn(group, kind))
    .filter((n) => ![...basic, kind, 'auth', 'credentials', 'private'].includes(n));
  const reach = () => void go('/servers/probe/steps', body());

  return (
    <div className="stack">
      {off && (
        <CommandsOff
          lines={[addLine(name || 'NAME', words.length > 0 ? words : ['COMMAND'], Object.keys(env), String(fields.cwd ?? ''))]}
        />
      )}
      <div className="columns wide-left">
        <Panel pad>
          <form
            className="stack"
            onSubmit={(e) => {
              e.preventDefault();
              if (ready) reached ? add.mutate() : reach();
            }}
          >
            <TextInput
              label={command ? 'Command' : 'URL'}
              placeholder={command ? 'npx -y @modelcontextprotocol/server-filesystem /srv/files' : 'https://notes.example.com/mcp'}
              value={text}
              error={wrong.find((w) => w.pointer === `/${kind}`)?.message ?? faults[kind]}
              autoFocus
              styles={{ input: { fontFamily: 'var(--mono)' } }}
              onPaste={(e) => {
                if (paste(e.clipboardData.getData('text'))) e.preventDefault();
              }}
              onChange={(e) => {
                write(command ? e.currentTarget.value : e.currentTarget.value.trim());
                edit({ agreed: false });
                changed();
              }}
            />
            {!command && <AuthFields draft={auth} change={(d) => common.change({ auth: d })} />}
            <Fields names={basic} {...common} />
            <TextInput
              label="ID"
              description="Prefix of the tool names: id__name."
              placeholder={name || 'notes'}
              value={id}
              onChange={(e) => {
                add.reset();
                edit({ id: e.currentTarget.value });
              }}
              error={name && !named ? 'Start with a lowercase letter, then up to 31 lowercase letters, digits or hyphens.' : faults.id}
            />
            <Checkbox
              label="Private: visible only to me"
              checked={fields.private === true}
              onChange={(e) => edit({ edits: { ...edits, private: e.currentTarget.checked } })}
            />
            <Advanced names={advanced} open={false} {...common} />
            {command && given && !off && <Consent words={words} env={env} checked={agreed} setChecked={(agreed) => edit({ agreed })} />}
            {!off && (
              <div className="acts">
                <Button variant={reached ? 'default' : 'filled'} disabled={!ready} loading={test.busy} onClick={reach}>
                  Test connection
                </Button>
                <Button type="submit" disabled={!ready || !reached} loading={add.isPending}>
                  Add {name || 'it'}
                </Button>
                {later && <span className="small soft">The server requires a login: add it, then log in.</span>}
              </div>
            )}
            {unplaced(add.error, faults) ? <ErrorCard error={add.error} /> : null}
          </form>
        </Panel>
        <div className="stack">
          <Panel title="Connection check" pad>
            <ConnectionSteps test={test} command={command} secure={/^https:/i.test(text)} />
            {test.error ? <ErrorCard error={test.error} /> : null}
          </Panel>
          {probe && !probe.failed && <ToolPreview probe={probe} />}
        </div>
      </div>
    </div>
  );
}

interface Line extends Found {
  chosen: boolean;
  outcome?: 'busy' | 'added';
  error?: unknown;
}

// linesOf lists the servers of a file; those that the user may add are chosen.
const linesOf = (text: string, runs: boolean): Line[] =>
  text.trim() ? parseMcpJson(text).found.map((f) => ({ ...f, chosen: !f.problem && (runs || !f.command) })) : [];

function Import({ text, write }: { text: string; write: (t: string) => void }) {
  const cache = useQueryClient();
  const problem = text.trim() ? parseMcpJson(text).problem : undefined;
  const runs = useRunsCommands();
  const [lines, setLines] = useState<Line[]>(() => linesOf(text, runs));
  const [agreed, setAgreed] = useState(false);
  const [busy, setBusy] = useState(false);

  const read = (t: string) => {
    write(t);
    setAgreed(false);
    setLines(linesOf(t, runs));
  };
  const change = (i: number, c: Partial<Line>) => setLines((all) => all.map((l, j) => (j === i ? { ...l, ...c } : l)));
  const chosen = lines.filter((l) => l.chosen && l.outcome !== 'added');
  const commands = chosen.filter((l) => l.command);
  const closed = runs ? [] : lines.filter((l) => l.command && !l.problem);

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
    if (closed.includes(l)) return <Tag>on the command line</Tag>;
    if (l.error) return <Tag tone="bad">{l.error instanceof Failure ? (l.error.problem.step ?? l.error.problem.code) : 'failed'}</Tag>;
    return null;
  };

  return (
    <div className="columns">
      <Panel pad>
        <div className="stack editor">
          <Textarea
            label="Configuration of an MCP client"
            description="From Claude, Cursor, VS Code, Windsurf, Gemini or another client with mcpServers. The file stays in this browser tab until you add servers."
            autosize
            minRows={10}
            maxRows={24}
            placeholder={'{\n  "mcpServers": {\n    "files": { "command": "npx", "args": ["-y", "…"] }\n  }\n}'}
            value={text}
            error={problem}
            onChange={(e) => read(e.currentTarget.value)}
          />
          <input
            type="file"
            accept=".json,application/json"
            aria-label="Choose a file"
            onChange={(e) => e.currentTarget.files?.[0]?.text().then(read)}
          />
        </div>
      </Panel>
      <div className="stack">
        {closed.length > 0 && <CommandsOff lines={closed.map((l) => addLine(l.id, l.command ?? [], Object.keys(l.env ?? {}), l.cwd))} />}
        <Panel title={lines.length ? `${lines.length} servers` : 'Servers in the file'}>
          {lines.length === 0 ? (
            <p className="pad soft">Paste the configuration on the left. You choose which servers to add.</p>
          ) : (
            <>
              <div className="rows">
                {lines.map((l, i) => (
                  <div key={l.name} style={{ alignItems: 'flex-start' }}>
                    <Checkbox
                      aria-label={`Add ${l.name}`}
                      mt={2}
                      checked={l.chosen}
                      disabled={!!l.problem || closed.includes(l) || l.outcome === 'added' || busy}
                      onChange={(e) => {
                        change(i, { chosen: e.currentTarget.checked });
                        setAgreed(false);
                      }}
                    />
                    <span className="grow stack tight">
                      <span className="row">
                        <b>{l.id}</b> {l.command && <TerminalSquare size={14} aria-label="a command" />} {mark(l)}
                      </span>
                      <code className="tiny soft wrap">{l.url ?? joinCommand(l.command ?? [])}</code>
                      {l.env && Object.keys(l.env).length > 0 && (
                        <code className="tiny soft wrap">
                          {Object.keys(l.env)
                            .map((k) => `${k}=•••`)
                            .join(' ')}
                        </code>
                      )}
                      {l.error ? <ErrorCard error={l.error} /> : null}
                    </span>
                  </div>
                ))}
              </div>
              <div className="pad stack" style={{ borderTop: '1px solid var(--line-soft)' }}>
                {commands.length > 0 && (
                  <Checkbox
                    label={`I want this instance to run exactly ${commands.length === 1 ? 'the command' : `the ${commands.length} commands`} above.`}
                    checked={agreed}
                    onChange={(e) => setAgreed(e.currentTarget.checked)}
                  />
                )}
                <Button disabled={chosen.length === 0 || (commands.length > 0 && !agreed)} loading={busy} onClick={add}>
                  Test and add {chosen.length || ''}
                </Button>
              </div>
            </>
          )}
        </Panel>
      </div>
    </div>
  );
}
