import { Button, Checkbox, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { get, query, type Schemas, send } from '../../api/client';
import { useAgents, useMe, useServers } from '../../api/data';
import { can } from '../../app/permissions';
import { Confirm } from '../../parts/Confirm';
import { Panel, Tag, type Tone } from '../../parts/elements';
import { FilterInput } from '../../parts/FilterInput';
import { count, counted } from '../../parts/format';
import { save } from '../../parts/save';
import { matches } from '../../parts/search';
import { ErrorCard } from '../../parts/states';
import { Consent } from '../server/Consent';

// What is there, as a file; and a file, as what is there.
export function ImportExport() {
  const me = useMe().data;
  return (
    <div className="columns">
      <div className="stack">
        <Declared />
        <Pack />
      </div>
      {can(me, 'servers:write') && <Import />}
    </div>
  );
}

function Declared() {
  const write = useMutation({
    mutationFn: (format: string) => get<Schemas['Exported']>(`/export${query({ format })}`),
    onSuccess: (made, format) => save(`junctor-servers.${format}`, made.text, format === 'json' ? 'application/json' : undefined),
  });
  return (
    <Panel title="Export servers and agents" pad>
      <div className="stack">
        <p className="soft">A stable file for a repository or another instance. It has no credentials: each is replaced by a variable.</p>
        <div className="acts">
          {['yaml', 'json'].map((format) => (
            <Button
              key={format}
              variant="default"
              leftSection={<Download size={14} />}
              loading={write.isPending && write.variables === format}
              onClick={() => write.mutate(format)}
            >
              {format.toUpperCase()}
            </Button>
          ))}
        </div>
        {write.error && <ErrorCard error={write.error} />}
        {write.data && write.data.variables.length > 0 && (
          <p className="small wrap">
            Set these variables where you apply the file:{' '}
            {write.data.variables.map((v) => (
              <code key={v.name}>{v.name} </code>
            ))}
          </p>
        )}
      </div>
    </Panel>
  );
}

const most = 30; // servers and agents that are drawn

function Pack() {
  const servers = useServers().data?.filter((s) => s.mode === 'bring-your-own') ?? [];
  const agents = useAgents().data ?? [];
  const [chosen, setChosen] = useState<string[]>([]);
  const write = useMutation({
    mutationFn: () => {
      const q = new URLSearchParams(chosen.map((c) => c.split('/', 2) as [string, string]));
      return get<Schemas['ExportedPack']>(`/packs/export?${q}`);
    },
    onSuccess: (made) => save('pack.yaml', made.text),
  });
  const [q, setQ] = useState('');
  const boxes = [...servers.map((s) => ['server', s.id, s.title]), ...agents.map((a) => ['agent', a.name, a.title])];
  const found = boxes.filter(([kind, name, title]) => chosen.includes(`${kind}/${name}`) || matches(q, name, title));
  const shown = found.slice(0, most);
  return (
    <Panel title="Create a pack" pad>
      <div className="stack">
        <p className="soft">Select servers and agents to share. Each credential becomes a question. Check the file before you share it.</p>
        {boxes.length > most && <FilterInput label="Find servers and agents" value={q} change={setQ} />}
        {shown.map(([kind, name, title]) => {
          const key = `${kind}/${name}`;
          return (
            <Checkbox
              key={key}
              label={`${title || name}${kind === 'agent' ? ' (agent)' : ''}`}
              checked={chosen.includes(key)}
              onChange={(e) => setChosen(e.currentTarget.checked ? [...chosen, key] : chosen.filter((c) => c !== key))}
            />
          );
        })}
        {found.length > most && <p className="small soft">{count(found.length - most)} more. Search by name.</p>}
        {boxes.length === 0 && <p className="small soft">Add a server or an agent first.</p>}
        <div className="acts">
          <Button
            variant="default"
            leftSection={<Download size={14} />}
            disabled={chosen.length === 0}
            loading={write.isPending}
            onClick={() => write.mutate()}
          >
            Create the pack
          </Button>
          {write.data && (
            <span className="small soft">
              {write.data.questions.length === 0
                ? 'The pack asks no questions.'
                : `The pack asks for ${write.data.questions.map((q) => q.name).join(', ')}.`}
            </span>
          )}
        </div>
        {write.error && <ErrorCard error={write.error} />}
      </div>
    </Panel>
  );
}

type Change = Schemas['Change'];
const signs: Record<Change['action'], [string, Tone]> = {
  add: ['add', 'good'],
  change: ['change', 'act'],
  remove: ['remove', 'bad'],
  conflict: ['conflict', 'warn'],
};

function Import() {
  const cache = useQueryClient();
  const [text, setText] = useState('');
  const [prune, setPrune] = useState(false);
  const [asked, setAsked] = useState(false);
  const [agreed, setAgreed] = useState<Record<string, boolean>>({});
  const apply = useMutation({
    mutationFn: (dry: boolean) => send<{ changes: Change[] }>('POST', '/apply', { file: text, prune, dry_run: dry }),
    onSuccess: (_, dry) => {
      setAsked(false);
      if (!dry) void cache.invalidateQueries();
    },
  });
  const forget = () => {
    apply.reset();
    setAgreed({});
  };
  const changes = apply.data?.changes;
  const planned = changes !== undefined && apply.variables;
  const removed = planned ? changes.filter((c) => c.action === 'remove') : [];
  const commands = planned ? changes.filter((c) => c.command && c.command.length > 0) : [];
  return (
    <Panel title="Apply a file" pad>
      <div className="stack editor">
        <Textarea
          label="Settings file"
          description="The servers and agents of a settings file. You see the changes before you apply them."
          autosize
          minRows={8}
          maxRows={20}
          placeholder={'servers:\n  notes:\n    url: https://notes.example.com/mcp'}
          value={text}
          onChange={(e) => {
            setText(e.currentTarget.value);
            forget();
          }}
        />
        <input
          type="file"
          accept=".yaml,.yml,.json"
          aria-label="Choose a file"
          onChange={(e) =>
            e.currentTarget.files?.[0]?.text().then((t) => {
              setText(t);
              forget();
            })
          }
        />
        <Checkbox
          label="Remove servers and agents that are not in the file"
          checked={prune}
          onChange={(e) => {
            setPrune(e.currentTarget.checked);
            forget();
          }}
        />
        {apply.error && <ErrorCard error={apply.error} />}
        {changes && (
          <ul className="stack tight" style={{ margin: 0, padding: 0, listStyle: 'none' }} aria-label="Changes">
            {changes.length === 0 && <li className="soft">The instance matches the file.</li>}
            {changes.map((c) => (
              <Line key={`${c.kind}/${c.id}`} c={c} />
            ))}
          </ul>
        )}
        {commands.map((c) => (
          <Consent
            key={c.id}
            words={c.command ?? []}
            checked={agreed[c.id] ?? false}
            setChecked={(v) => setAgreed({ ...agreed, [c.id]: v })}
          />
        ))}
        <div className="acts">
          <Button
            variant={planned && changes.length > 0 ? 'default' : 'filled'}
            disabled={!text.trim()}
            loading={apply.isPending && apply.variables}
            onClick={() => apply.mutate(true)}
          >
            Show changes
          </Button>
          <Button
            disabled={!planned || changes.length === 0 || !commands.every((c) => agreed[c.id])}
            loading={apply.isPending && !apply.variables}
            onClick={() => (removed.length > 0 ? setAsked(true) : apply.mutate(false))}
          >
            Apply
          </Button>
        </div>
      </div>
      {asked && (
        <Confirm
          title={`Remove ${counted(removed.length, 'server or agent', 'servers and agents')}?`}
          act="Apply and remove"
          of={apply}
          run={() => apply.mutate(false)}
          close={() => setAsked(false)}
        >
          <p>These are not in the file. They are removed with their credentials and keys, which cannot be undone:</p>
          <p className="wrap">
            <b>{removed.map((c) => c.id).join(', ')}</b>
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function Line({ c }: { c: Change }) {
  const [word, tone] = signs[c.action];
  return (
    <li>
      <span className="row">
        <Tag tone={c.error ? 'bad' : tone}>{c.done ? 'done' : word}</Tag> {c.kind} <b>{c.id}</b>
        {c.where && <span className="tiny soft">{c.where}</span>}
      </span>
      {c.error && <span className="small wrap">{c.error}</span>}
      {c.fields?.map((f) => (
        <span key={f.field} className="tiny soft wrap" style={{ display: 'block' }}>
          <code>{f.field}</code>: {f.from || '(none)'} → {f.to || '(none)'}
        </span>
      ))}
    </li>
  );
}
