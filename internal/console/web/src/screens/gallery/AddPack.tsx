import { Button, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Schemas, send } from '../../api/client';
import { useMe, usePacks } from '../../api/data';
import { can } from '../../app/permissions';
import { joinCommand } from '../../parts/command';
import { Copy, ExternalLink, Head, Panel, Tag } from '../../parts/elements';
import { Empty, ErrorCard, Loading } from '../../parts/states';
import { useFields } from '../../parts/useFields';
import { CommandsOff, useRunsCommands } from '../server/CommandsOff';
import { Consent } from '../server/Consent';

type Plan = Schemas['PackPlan'];
type Question = Schemas['Question'];
type Added = Schemas['AddedPack'];
type Texts = Record<string, string>;

// file is the id of the page where somebody brings a pack of their own.
const file = 'file';

export default function AddPack({ id }: { id: string }) {
  const packs = usePacks();
  const [text, setText] = useState('');
  const own = useQuery({
    queryKey: ['plan', text],
    queryFn: ({ signal }) => send<Plan>('POST', '/packs/plan', { file: text }, { signal }),
    enabled: id === file && text.trim() !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const pack = id === file ? own.data : packs.data?.find((p) => p.id === id);
  return (
    <>
      <Head title={pack?.title ?? (id === file ? 'Pack from a file' : id)} sub={pack?.summary} crumbs={[['Gallery', '/gallery']]} />
      {id === file && (
        <Panel pad>
          <div className="stack editor">
            <Textarea
              label="Pack"
              description="YAML or JSON from “junctor pack export”. You see what it adds before you add it."
              autosize
              minRows={4}
              maxRows={16}
              placeholder={'pack: notes\ntitle: Notes\n…'}
              value={text}
              onChange={(e) => setText(e.currentTarget.value)}
            />
            <input
              type="file"
              accept=".yaml,.yml,.json"
              aria-label="Choose a file"
              onChange={(e) => e.currentTarget.files?.[0]?.text().then(setText)}
            />
            {own.error && <ErrorCard error={own.error} />}
          </div>
        </Panel>
      )}
      {packs.error && id !== file ? (
        <ErrorCard error={packs.error} retry={() => packs.refetch()} />
      ) : pack ? (
        <Fill key={`${pack.id} ${text}`} pack={pack} choice={id === file ? { file: text } : { pack: id }} />
      ) : id !== file && packs.isPending ? (
        <Loading rows={6} />
      ) : (
        id !== file && (
          <Empty title="Pack not found">
            <Link className="link" href="/gallery">
              The gallery
            </Link>{' '}
            lists the packs that come with Junctor.
          </Empty>
        )
      )}
    </>
  );
}

const wanted = (q: Question) => !q.optional && !q.default;

interface Filled {
  answers: Texts;
  names: Texts;
  agreed: Record<string, boolean>; // to the command of a server
}

function Fill({ pack, choice }: { pack: Plan; choice: { pack?: string; file?: string } }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const { fields: f, edit } = useFields<Filled>(() => ({ answers: {}, names: freeNames(pack), agreed: {} }));
  const { answers, names, agreed } = f;

  const questions = pack.questions ?? [];
  // A secret is sent once, with the consent to what it is for.
  const open = Object.fromEntries(questions.filter((q) => !q.secret && answers[q.name]).map((q) => [q.name, answers[q.name] ?? '']));
  const ask = useDeferredValue(JSON.stringify({ ...choice, answers: open, names }));
  const may = can(me, 'servers:write');
  const plan = useQuery({
    queryKey: ['plan', ask],
    queryFn: ({ signal }) => send<Plan>('POST', '/packs/plan', JSON.parse(ask), { signal }),
    placeholderData: keepPreviousData,
    enabled: may,
    gcTime: 0,
  });
  const now = plan.data ?? pack;
  const current = ask === JSON.stringify({ ...choice, answers: open, names }) && !plan.isPlaceholderData && !plan.isPending;
  const missing = questions.filter((q) => wanted(q) && !answers[q.name]);
  const taken = now.servers.some((s) => s.taken) || now.agents.some((a) => a.taken);
  const commands = now.servers.filter((s) => s.command && s.command.length > 0 && !s.present);
  const off = !useRunsCommands() && commands.length > 0;
  const ready = may && !off && current && !plan.error && missing.length === 0 && !taken && commands.every((s) => agreed[s.id]);

  const add = useMutation({
    mutationFn: () =>
      send<Added>('POST', '/packs/add', {
        ...choice,
        answers,
        names,
        commands: Object.fromEntries(commands.map((s) => [s.id, s.command])),
      }),
    onSuccess: async ({ agents, servers }) => {
      await Promise.all(['servers', 'tools', 'packs', 'agents', 'secrets'].map((key) => cache.invalidateQueries({ queryKey: [key] })));
      if (agents.length === 0 && servers[0]) navigate(`/servers/${servers[0].id}`);
    },
  });
  // A consent is to what was read: another answer or name is another command.
  const answer = (name: string, value: string) => {
    edit({ answers: { ...answers, [name]: value }, agreed: {} });
    add.reset();
  };

  if (add.data && (add.data.agents.length > 0 || !add.data.servers[0])) return <Done added={add.data} />;
  return (
    <div className="stack">
      {may && off && <CommandsOff lines={[packLine(choice.pack, questions, answers)]} />}
      <div className="columns wide-left">
        <Panel pad>
          <form
            className="stack"
            onSubmit={(e) => {
              e.preventDefault();
              if (ready) add.mutate();
            }}
          >
            {questions.map((q) => (
              <Answer key={q.name} q={q} value={answers[q.name] ?? ''} set={(v) => answer(q.name, v)} />
            ))}
            {questions.length === 0 && <p className="soft">No settings are needed.</p>}
            {now.servers.map((s) =>
              s.present || s.named ? (
                <p key={s.name} className={s.taken ? 'bad' : 'soft'}>
                  {s.present
                    ? `The server ${s.id} exists and is used unchanged.`
                    : s.taken
                      ? `Another server has the ID ${s.id}. Rules refer to tools by this ID, so remove that server first.`
                      : `The server keeps the ID ${s.id}, because rules refer to its tools.`}
                </p>
              ) : (
                <TextInput
                  key={s.name}
                  label={now.servers.length === 1 ? 'ID' : `ID of ${s.name}`}
                  description="Prefix of the tool names: id__name."
                  value={names[`server/${s.name}`] ?? s.name}
                  error={s.taken ? 'A server with this ID exists.' : undefined}
                  onChange={(e) => {
                    edit({ names: { ...names, [`server/${s.name}`]: e.currentTarget.value }, agreed: {} });
                  }}
                />
              ),
            )}
            {now.agents.map((a) => (
              <TextInput
                key={a.pack}
                label={now.agents.length === 1 ? 'Name of the agent' : `Name of the agent ${a.pack}`}
                value={names[`agent/${a.pack}`] ?? a.pack}
                error={a.taken ? 'An agent with this name exists.' : undefined}
                onChange={(e) => edit({ names: { ...names, [`agent/${a.pack}`]: e.currentTarget.value } })}
              />
            ))}
            {plan.error && <ErrorCard error={plan.error} />}
            {may &&
              !off &&
              !plan.error &&
              missing.length === 0 &&
              commands.map((s) => (
                <Consent
                  key={s.id}
                  words={s.command ?? []}
                  env={Object.fromEntries((s.env ?? []).map((name) => [name, '']))}
                  checked={agreed[s.id] ?? false}
                  setChecked={(c) => edit({ agreed: { ...agreed, [s.id]: c } })}
                />
              ))}
            {may && off ? null : may ? (
              <div className="acts">
                <Button type="submit" disabled={!ready || add.isPending} loading={add.isPending}>
                  Add {now.servers.length === 1 ? now.servers[0]?.id : 'all'}
                </Button>
                <span className="small soft" aria-live="polite">
                  {add.isPending
                    ? commands.length > 0
                      ? 'Downloading and starting. The first time can take a minute.'
                      : 'Testing the connection…'
                    : missing.length > 0
                      ? `Required: ${missing.map((q) => q.title).join(', ')}.`
                      : ''}
                </span>
              </div>
            ) : (
              <p className="soft">Your role cannot add servers. Ask a developer or an admin.</p>
            )}
            {add.error && <ErrorCard error={add.error} />}
          </form>
        </Panel>
        <About pack={pack} now={now} />
      </div>
    </div>
  );
}

// packLine is the command line that adds a pack with these answers. It names a file for each
// secret.
const packLine = (pack: string | undefined, questions: Question[], answers: Texts): string =>
  joinCommand([
    'junctor',
    'pack',
    'add',
    pack ?? './pack.yaml',
    ...questions
      .filter((q) => wanted(q) || answers[q.name])
      .flatMap((q) => ['--answer', `${q.name}=${q.secret ? `@${q.name}.txt` : answers[q.name] || q.example || q.name.toUpperCase()}`]),
  ]);

// freeNames proposes a name that nobody has for each server and agent whose own is taken.
function freeNames(pack: Plan): Texts {
  const servers = pack.servers.filter((s) => s.taken && !s.named).map((s) => [`server/${s.name}`, `${s.name}-2`]);
  const agents = pack.agents.filter((a) => a.taken).map((a) => [`agent/${a.pack}`, `${a.pack}-2`]);
  return Object.fromEntries([...servers, ...agents]);
}

function Answer({ q, value, set }: { q: Question; value: string; set: (v: string) => void }) {
  const common = {
    label: q.title,
    description: (
      <>
        {q.about} {q.where && <Where text={q.where} />} {q.secret && 'Stored encrypted and never shown again.'}
      </>
    ),
    withAsterisk: wanted(q),
    required: wanted(q),
    value,
  };
  if (q.secret) return <PasswordInput {...common} autoComplete="off" onChange={(e) => set(e.currentTarget.value)} />;
  return <TextInput {...common} placeholder={q.default || q.example} onChange={(e) => set(e.currentTarget.value)} />;
}

const Where = ({ text }: { text: string }) => (/^https:\/\//.test(text) ? <ExternalLink href={text}>Get it</ExternalLink> : text);

function About({ pack, now }: { pack: Plan; now: Plan }) {
  return (
    <Panel title="Contents of the pack" pad>
      <dl className="facts">
        {now.servers.map((s) => (
          <Server key={s.name} s={s} />
        ))}
        {now.agents.map((a) => (
          <Row key={a.name} name={`Agent ${a.name}`}>
            {a.role}: {a.tools.join(', ')} {a.taken && <Tag tone="warn">name in use</Tag>}
          </Row>
        ))}
        <Row name="Network">
          {{ none: 'never', install: 'once, for the download', always: 'always' }[pack.network as string] ?? 'unknown'}
        </Row>
        {pack.needs && pack.needs.length > 0 && <Row name="Requires">{pack.needs.join(', ')} on the machine of the instance</Row>}
        {pack.homepage && (
          <Row name="More">
            <ExternalLink href={pack.homepage} />
          </Row>
        )}
      </dl>
    </Panel>
  );
}

const Row = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <>
    <dt>{name}</dt>
    <dd className="wrap">{children}</dd>
  </>
);

function Server({ s }: { s: Plan['servers'][number] }) {
  return (
    <>
      <Row name={s.present ? 'Uses' : s.command ? 'Runs' : 'Connects to'}>
        <code className="wrap">{s.command ? s.command.join(' ') : s.url || s.document}</code>
        {s.cwd && (
          <span className="soft">
            {' '}
            in <code>{s.cwd}</code>
          </span>
        )}
      </Row>
      {s.auth === 'oauth' && <Row name="Next step">Sign in on the page of the server.</Row>}
    </>
  );
}

function Done({ added }: { added: Added }) {
  return (
    <Panel title="Added" pad>
      <div className="stack">
        {added.servers.map((s) => (
          <p key={s.id}>
            The server{' '}
            <Link className="link" href={`/servers/${s.id}`}>
              {s.title || s.id}
            </Link>{' '}
            was added.
          </p>
        ))}
        {added.agents.map((a) => (
          <div key={a.name} className="stack tight">
            <p>
              The agent{' '}
              <Link className="link" href={`/agents/${a.name}`}>
                {a.name}
              </Link>
              . Copy its key now: it is shown only once.
            </p>
            <p className="row">
              <code className="wrap">{a.key}</code> <Copy value={a.key} label="Copy the key" />
            </p>
          </div>
        ))}
      </div>
    </Panel>
  );
}
