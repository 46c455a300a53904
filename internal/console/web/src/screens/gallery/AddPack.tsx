import { Button, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Schemas, send } from '../../api/client';
import { useMe, usePacks } from '../../api/data';
import { can } from '../../app/may';
import { Copy, Head, Out, Panel, Tag } from '../../parts/bits';
import { Empty, ErrorCard, Loading } from '../../parts/states';
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
      <Head title={pack?.title ?? (id === file ? 'A pack from a file' : id)} sub={pack?.summary} crumbs={[['Gallery', '/gallery']]} />
      {id === file && (
        <Panel pad>
          <div className="stack editor">
            <Textarea
              label="The pack"
              description="YAML or JSON, as “junctor pack export” writes it. Nothing is added before you say so."
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
              aria-label="Or choose the file"
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
          <Empty title="There is no such pack">
            <Link className="link" href="/gallery">
              The gallery
            </Link>{' '}
            has those that come with the program.
          </Empty>
        )
      )}
    </>
  );
}

const wanted = (q: Question) => !q.optional && !q.default;

function Fill({ pack, choice }: { pack: Plan; choice: { pack?: string; file?: string } }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const [answers, setAnswers] = useState<Texts>({});
  const [names, setNames] = useState<Texts>(() => freeNames(pack));
  const [agreed, setAgreed] = useState<Record<string, boolean>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [added, setAdded] = useState<Added | null>(null);

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
  const ready = may && current && !plan.error && missing.length === 0 && !taken && commands.every((s) => agreed[s.id]);

  const answer = (name: string, value: string) => {
    setAnswers((a) => ({ ...a, [name]: value }));
    setAgreed({});
    setError(null);
  };
  const add = async () => {
    setBusy(true);
    setError(null);
    try {
      const done = await send<Added>('POST', '/packs/add', {
        ...choice,
        answers,
        names,
        commands: Object.fromEntries(commands.map((s) => [s.id, s.command])),
      });
      await Promise.all(['servers', 'tools', 'packs', 'agents', 'secrets'].map((key) => cache.invalidateQueries({ queryKey: [key] })));
      if (done.agents.length === 0 && done.servers[0]) navigate(`/servers/${done.servers[0].id}`);
      else setAdded(done);
    } catch (err) {
      setError(err);
    }
    setBusy(false);
  };

  if (added) return <Done added={added} />;
  return (
    <div className="columns wide-left">
      <Panel pad>
        <form
          className="stack"
          onSubmit={(e) => {
            e.preventDefault();
            if (ready) void add();
          }}
        >
          {questions.map((q) => (
            <Answer key={q.name} q={q} value={answers[q.name] ?? ''} set={(v) => answer(q.name, v)} />
          ))}
          {questions.length === 0 && <p className="soft">Nothing is missing: it can be added as it is.</p>}
          {now.servers.map((s) =>
            s.present || s.named ? (
              <p key={s.name} className={s.taken ? 'bad' : 'soft'}>
                {s.present
                  ? `The server ${s.id} is here already, and is used as it is.`
                  : s.taken
                    ? `There is another server ${s.id} already, and this one keeps its id: rules name its tools. Remove that one first.`
                    : `The server is called ${s.id}: rules name its tools.`}
              </p>
            ) : (
              <TextInput
                key={s.name}
                label={now.servers.length === 1 ? 'Id' : `Id of ${s.name}`}
                description="Its tools are shown as id__name."
                value={names[`server/${s.name}`] ?? s.name}
                error={s.taken ? 'There is a server of this id already.' : undefined}
                onChange={(e) => {
                  setNames({ ...names, [`server/${s.name}`]: e.currentTarget.value });
                  setAgreed({});
                }}
              />
            ),
          )}
          {now.agents.map((a) => (
            <TextInput
              key={a.pack}
              label={now.agents.length === 1 ? 'Name of the agent' : `Name of the agent ${a.pack}`}
              value={names[`agent/${a.pack}`] ?? a.pack}
              error={a.taken ? 'There is an agent of this name already.' : undefined}
              onChange={(e) => setNames({ ...names, [`agent/${a.pack}`]: e.currentTarget.value })}
            />
          ))}
          {plan.error && <ErrorCard error={plan.error} />}
          {may &&
            !plan.error &&
            missing.length === 0 &&
            commands.map((s) => (
              <Consent
                key={s.id}
                words={s.command ?? []}
                env={Object.fromEntries((s.env ?? []).map((name) => [name, '']))}
                checked={agreed[s.id] ?? false}
                setChecked={(c) => setAgreed({ ...agreed, [s.id]: c })}
              />
            ))}
          {may ? (
            <div className="acts">
              <Button type="submit" disabled={!ready || busy} loading={busy}>
                Add {now.servers.length === 1 ? now.servers[0]?.id : 'all of it'}
              </Button>
              <span className="small soft" aria-live="polite">
                {busy
                  ? commands.length > 0
                    ? 'It is fetched and started; the first time that can take a minute.'
                    : 'It is reached.'
                  : missing.length > 0
                    ? `Still missing: ${missing.map((q) => q.title).join(', ')}.`
                    : ''}
              </span>
            </div>
          ) : (
            <p className="soft">Your role looks and adds nothing: ask a developer or an admin.</p>
          )}
          {error !== null && <ErrorCard error={error} />}
        </form>
      </Panel>
      <About pack={pack} now={now} />
    </div>
  );
}

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
        {q.about} {q.where && <Where text={q.where} />} {q.secret && 'Kept sealed, and never shown again.'}
      </>
    ),
    withAsterisk: wanted(q),
    required: wanted(q),
    value,
  };
  if (q.secret) return <PasswordInput {...common} autoComplete="off" onChange={(e) => set(e.currentTarget.value)} />;
  return <TextInput {...common} placeholder={q.default || q.example} onChange={(e) => set(e.currentTarget.value)} />;
}

const Where = ({ text }: { text: string }) => (/^https:\/\//.test(text) ? <Out href={text}>Get it here</Out> : text);

function About({ pack, now }: { pack: Plan; now: Plan }) {
  return (
    <Panel title="What is added" pad>
      <dl className="facts">
        {now.servers.map((s) => (
          <Server key={s.name} s={s} />
        ))}
        {now.agents.map((a) => (
          <Row key={a.name} name={`Agent ${a.name}`}>
            {a.role}: {a.tools.join(', ')} {a.taken && <Tag tone="warn">the name is taken</Tag>}
          </Row>
        ))}
        <Row name="Network">{{ none: 'never', install: 'once, to fetch it', always: 'always' }[pack.network as string] ?? 'not said'}</Row>
        {pack.needs && pack.needs.length > 0 && <Row name="Needs">{pack.needs.join(', ')} on the machine of the instance</Row>}
        {pack.homepage && (
          <Row name="More">
            <Out href={pack.homepage} />
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
      <Row name={s.present ? 'Uses' : s.command ? 'Runs' : 'Reaches'}>
        <code className="wrap">{s.command ? s.command.join(' ') : s.url || s.document}</code>
        {s.cwd && (
          <span className="soft">
            {' '}
            in <code>{s.cwd}</code>
          </span>
        )}
      </Row>
      {s.auth === 'oauth' && <Row name="Then">You sign in there, on the page of the server.</Row>}
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
            answers.
          </p>
        ))}
        {added.agents.map((a) => (
          <div key={a.name} className="stack tight">
            <p>
              The agent{' '}
              <Link className="link" href={`/agents/${a.name}`}>
                {a.name}
              </Link>
              . Its key is shown this once:
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
