import { Button, Checkbox, Modal, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useLocation } from 'wouter';
import { type Schemas, type Server, type ServerDetail, send } from '../../api/client';
import { Ago, Copy, Panel } from '../../parts/bits';
import { useEdits, useSave } from '../../parts/Conflict';
import { joinCommand, parseEnv, splitCommand } from '../../parts/command';
import { authOf, type Draft, kept, lacks, lines, parseHeaders } from '../../parts/connection';
import { home } from '../../parts/doors';
import { ErrorCard, Loading } from '../../parts/states';
import { AuthFields } from './AuthFields';
import { Consent } from './Consent';
import { OverrideRows } from './Overrides';
import { ViewSwitch } from './Views';

const Parts = lazy(() => import('../api/Parts'));

type Patch = Omit<Schemas['ServerPatchBody'], '$schema'>;

// Settings are all that can be changed of a server.
export function Settings({ s, writes }: { s: ServerDetail; writes: boolean }) {
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      <Facts s={s} />
      {s.mode === 'bring-your-own' && (
        <>
          <Change key={s.id} s={s} may={writes} />
          <OverrideRows key={`${s.id} tools`} s={s} may={writes} />
        </>
      )}
      {s.mode === 'auto-generated' && (
        <Suspense fallback={<Loading />}>
          <Parts s={s} may={writes} part="settings" />
        </Suspense>
      )}
      {s.mode !== 'discovered' && <ViewSwitch s={s} may={writes} />}
      {writes && <Remove s={s} />}
    </div>
  );
}

function Facts({ s }: { s: ServerDetail }) {
  const door = `${home()}/mcp/s/${s.id}`;
  return (
    <Panel pad>
      <dl className="facts">
        <dt>Id</dt>
        <dd>
          <code>{s.id}</code>
        </dd>
        {s.found ? (
          <>
            <dt>Found for</dt>
            <dd className="row">
              <code className="wrap">{s.found}</code> <Copy value={s.found} />
            </dd>
          </>
        ) : (
          <>
            <dt>Door of its own</dt>
            <dd className="row">
              <code>{door}</code> <Copy value={door} />
            </dd>
          </>
        )}
        <dt>Added</dt>
        <dd>
          <Ago at={s.created_at} /> {s.owner && <span className="soft">by {s.owner}</span>}
        </dd>
        <dt>Changed</dt>
        <dd>
          <Ago at={s.updated_at} />
        </dd>
        {s.declared && (
          <>
            <dt>Declared in</dt>
            <dd>
              <code>{s.declared}</code>: it can be changed there alone.
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}

const draftOf = (s: Server): Draft => ({ ...((s.auth as Draft | undefined) ?? { type: 'none' }) });

// fieldsOf is a server as it stands in the fields of the form.
const fieldsOf = (s: Server) => ({
  title: s.title ?? '',
  isPrivate: s.private ?? false,
  url: s.url ?? '',
  transport: s.transport ?? 'http',
  line: joinCommand(s.command ?? []),
  cwd: s.cwd ?? '',
  env: lines(s.env),
  headers: lines(s.headers, ': '),
  auth: draftOf(s),
  credentials: s.credentials || 'shared',
  isolation: s.isolation || 'shared',
  home: (s.home === 'one' ? 'one' : 'each') as 'each' | 'one',
  sessions: s.max_sessions ?? 0,
  timeout: (s.timeout_ms ?? 0) / 1000,
});
type Fields = ReturnType<typeof fieldsOf>;

const labels: Record<string, string> = {
  title: 'Title',
  isPrivate: 'Only its owner sees it',
  url: 'URL',
  transport: 'Transport',
  line: 'Command',
  cwd: 'Working directory',
  env: 'Environment',
  headers: 'Headers',
  auth: 'Credentials',
  credentials: 'Calls are made with',
  isolation: 'A connection is shared by',
  home: 'Of several replicas it runs on',
  sessions: 'At a time',
  timeout: 'Seconds that a call may take',
};

// patchOf is what the fields change of a server.
function patchOf(f: Fields, s: Server): Patch {
  const command = s.transport === 'stdio';
  const was = fieldsOf(s);
  const patch: Patch = {};
  if (f.title !== was.title) patch.title = f.title;
  if (f.isPrivate !== was.isPrivate) patch.private = f.isPrivate;
  if (!command && f.url !== was.url) patch.url = f.url;
  if (!command && f.transport !== was.transport) patch.transport = f.transport;
  if (command && f.line !== was.line) patch.command = splitCommand(f.line).words;
  if (command && f.cwd !== was.cwd) patch.cwd = f.cwd;
  if (command && f.env !== was.env) patch.env = parseEnv(f.env).env;
  if (!command && f.headers !== was.headers) patch.headers = parseHeaders(f.headers).headers;
  if (!command && JSON.stringify(authOf(f.auth)) !== JSON.stringify(authOf(was.auth))) patch.auth = authOf(f.auth);
  if (f.credentials !== was.credentials) patch.credentials = f.credentials;
  if (f.isolation !== was.isolation) patch.isolation = f.isolation;
  if (command && f.home !== was.home) patch.home = f.home;
  if (f.sessions !== was.sessions) patch.max_sessions = f.sessions;
  if (f.timeout !== was.timeout) patch.timeout_ms = Math.round(f.timeout * 1000);
  return patch;
}

function Change({ s, may }: { s: ServerDetail; may: boolean }) {
  const cache = useQueryClient();
  const command = s.transport === 'stdio';
  const form = useEdits<Server, Fields>(s, fieldsOf);
  const [agreed, setAgreed] = useState(false);
  const { edit } = form;
  const { title, isPrivate, url, transport, line, cwd, env, headers, auth, credentials, isolation, home, sessions, timeout } = form.fields;

  const split = splitCommand(line);
  const vars = parseEnv(env);
  const heads = parseHeaders(headers);
  const patch = patchOf(form.fields, form.base);
  const runs = patch.command !== undefined || patch.env !== undefined || patch.cwd !== undefined;
  const problem = split.problem || vars.problem || heads.problem || (patch.auth ? lacks(auth) : '');
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/servers/${s.id}`],
    bodyOf: patchOf,
    done: () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]),
    labels,
  });
  const mono = { input: { fontFamily: 'var(--mono)' } };
  const lock = !may || saving.busy;
  return (
    <form
      className="stack"
      style={{ gap: '1.125rem' }}
      onSubmit={(e) => {
        e.preventDefault();
        saving.save();
      }}
    >
      <div className="columns">
        <Panel title="How it is reached" pad>
          <div className="stack">
            {command ? (
              <>
                <TextInput
                  label="Command"
                  value={line}
                  error={split.problem}
                  disabled={lock}
                  styles={mono}
                  onChange={(e) => {
                    edit({ line: e.currentTarget.value });
                    setAgreed(false);
                  }}
                />
                <TextInput
                  label="Working directory"
                  value={cwd}
                  disabled={lock}
                  styles={mono}
                  onChange={(e) => {
                    edit({ cwd: e.currentTarget.value });
                    setAgreed(false);
                  }}
                />
                <Textarea
                  label="Environment"
                  description={`NAME=value, a line each. ${kept} keeps the value that is stored.`}
                  autosize
                  minRows={2}
                  maxRows={10}
                  value={env}
                  error={vars.problem}
                  disabled={lock}
                  styles={mono}
                  onChange={(e) => {
                    edit({ env: e.currentTarget.value });
                    setAgreed(false);
                  }}
                />
                {runs && may && <Consent words={split.words} env={vars.env} checked={agreed} setChecked={setAgreed} />}
              </>
            ) : (
              <>
                <TextInput
                  label="URL"
                  value={url}
                  disabled={lock}
                  styles={mono}
                  onChange={(e) => edit({ url: e.currentTarget.value.trim() })}
                />
                <NativeSelect
                  label="Transport"
                  value={transport}
                  disabled={lock}
                  data={[
                    { value: 'http', label: 'Streamable HTTP' },
                    { value: 'sse', label: 'HTTP+SSE of 2024-11-05' },
                  ]}
                  onChange={(e) => edit({ transport: e.currentTarget.value as typeof transport })}
                />
                <AuthFields draft={auth} change={(auth) => edit({ auth })} disabled={lock} />
                <Textarea
                  label="Headers"
                  description={`Name: value, a line each, sent with every request. ${kept} keeps the value that is stored.`}
                  autosize
                  minRows={2}
                  maxRows={10}
                  value={headers}
                  error={heads.problem}
                  disabled={lock}
                  styles={mono}
                  onChange={(e) => edit({ headers: e.currentTarget.value })}
                />
              </>
            )}
          </div>
        </Panel>
        <Panel title="How it is used" pad>
          <div className="stack">
            <TextInput
              label="Title"
              value={title}
              placeholder={s.id}
              disabled={lock}
              onChange={(e) => edit({ title: e.currentTarget.value })}
            />
            <Checkbox
              label="Only its owner sees it"
              checked={isPrivate}
              disabled={lock}
              onChange={(e) => edit({ isPrivate: e.currentTarget.checked })}
            />
            {!command && (
              <NativeSelect
                label="Calls are made with"
                value={credentials}
                disabled={lock}
                data={[
                  { value: 'shared', label: 'the server’s own credentials' },
                  { value: 'per-user', label: 'the credentials of each user' },
                ]}
                onChange={(e) => edit({ credentials: e.currentTarget.value as typeof credentials })}
              />
            )}
            <NativeSelect
              label="A connection is shared by"
              value={isolation}
              disabled={lock}
              data={[
                { value: 'shared', label: 'everybody' },
                { value: 'session', label: 'nobody: one for each client' },
                { value: 'user', label: 'one party: one for each key' },
              ]}
              onChange={(e) => edit({ isolation: e.currentTarget.value as typeof isolation })}
            />
            {command && (
              <NativeSelect
                label="Of several replicas it runs on"
                value={home}
                disabled={lock}
                data={[
                  { value: 'each', label: 'each that is asked for it' },
                  { value: 'one', label: 'one, for all of them' },
                ]}
                onChange={(e) => edit({ home: e.currentTarget.value as typeof home })}
              />
            )}
            <NumberInput
              label={command ? 'Processes at a time' : 'Connections at a time'}
              description="0 is the usual number."
              min={0}
              max={10000}
              hideControls
              disabled={lock}
              value={sessions}
              onChange={(v) => edit({ sessions: Number(v) || 0 })}
            />
            <NumberInput
              label="Seconds that a call may take"
              description="0 is the instance’s own limit."
              min={0}
              max={86400}
              hideControls
              disabled={lock}
              value={timeout}
              onChange={(v) => edit({ timeout: Number(v) || 0 })}
            />
          </div>
        </Panel>
      </div>
      {may && (
        <div className="acts">
          <Button type="submit" loading={saving.busy} disabled={Object.keys(patch).length === 0 || !!problem || (runs && !agreed)}>
            Save
          </Button>
          <span className="small soft">
            {problem || (Object.keys(patch).length > 0 ? 'Where it is reached otherwise, it is reached first.' : '')}
          </span>
        </div>
      )}
      {saving.error !== null && <ErrorCard error={saving.error} />}
      {saving.dialog}
    </form>
  );
}

function Remove({ s }: { s: ServerDetail }) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const [asked, { open, close }] = useDisclosure();
  const [typed, setTyped] = useState('');
  const remove = useMutation({
    mutationFn: () => send('DELETE', `/servers/${s.id}`),
    onSuccess: async () => {
      await Promise.all([
        cache.invalidateQueries({ queryKey: ['servers'], exact: true }),
        cache.invalidateQueries({ queryKey: ['tools'] }),
      ]);
      navigate('/servers');
    },
  });
  return (
    <div>
      <Button color="red" variant="light" leftSection={<Trash2 size={15} />} onClick={open}>
        Remove it for good
      </Button>
      <Modal opened={asked} onClose={close} title={`Remove ${s.id}?`}>
        <form
          className="stack"
          onSubmit={(e) => {
            e.preventDefault();
            if (typed === s.id) remove.mutate();
          }}
        >
          <p className="soft">
            Its tools are gone for everybody, and so are its credentials and what agents were granted of it. Records stay.
          </p>
          <TextInput
            label={`Type ${s.id} to go on`}
            value={typed}
            onChange={(e) => setTyped(e.currentTarget.value)}
            data-autofocus
            autoComplete="off"
          />
          {remove.error && <ErrorCard error={remove.error} />}
          <Button type="submit" color="red" disabled={typed !== s.id} loading={remove.isPending}>
            Remove it
          </Button>
        </form>
      </Modal>
    </div>
  );
}
