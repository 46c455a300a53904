import { Button, Checkbox, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Server, ServerDetail } from '../../api/client';
import { parseEnv, splitCommand } from '../../parts/command';
import { authNames, type Draft, kept, lacks, parseHeaders } from '../../parts/connection';
import { Panel } from '../../parts/elements';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';
import { AuthFields } from './AuthFields';
import { Consent } from './Consent';
import { fieldsOf, isCommand, isGenerated, labels, patchOf, type ServerFields } from './serverFields';

type Name<T> = { [F in keyof ServerFields]: ServerFields[F] extends T ? F : never }[keyof ServerFields];

// ServerForm changes the settings of an upstream or generated server.
export function ServerForm({ s, may }: { s: ServerDetail; may: boolean }) {
  const cache = useQueryClient();
  const [agreed, setAgreed] = useState(false);
  const form = useEdits<Server, ServerFields>(s, fieldsOf);
  const { edit, fields: f } = form;
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/servers/${s.id}`],
    bodyOf: patchOf,
    done: () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]),
    labels,
    written: (field, value) => (field === 'auth' ? authNames[(value as Draft).type] : undefined),
  });
  const command = isCommand(s);
  const generated = isGenerated(s);
  const split = splitCommand(f.command);
  const vars = parseEnv(f.env);
  const patch = patchOf(f, form.base);
  const changed = Object.keys(patch).length > 0;
  const runs = patch.command !== undefined || patch.env !== undefined || patch.cwd !== undefined;
  const problem = split.problem || vars.problem || parseHeaders(f.headers).problem || (patch.auth ? lacks(f.auth) : '');
  const lock = !may || saving.busy;

  const common = (name: keyof ServerFields, more: object) => ({ label: labels[name], disabled: lock, ...more });
  const text = (name: Name<string>, more: object = {}, write: (v: string) => string = (v) => v) => (
    <TextInput
      {...common(name, { styles: mono, ...more })}
      value={f[name]}
      onChange={(e) => edit({ [name]: write(e.currentTarget.value) })}
    />
  );
  const area = (name: Name<string>, description: string, more: object = {}) => (
    <Textarea
      {...common(name, { description, autosize: true, minRows: 2, maxRows: 10, styles: mono, ...more })}
      value={f[name]}
      onChange={(e) => edit({ [name]: e.currentTarget.value })}
    />
  );
  const number = (name: Name<number>, description: string, more: object = {}) => (
    <NumberInput
      {...common(name, { description, min: 0, hideControls: true, ...more })}
      value={f[name]}
      onChange={(v) => edit({ [name]: Number(v) || 0 })}
    />
  );
  const choice = (name: Name<string>, data: { value: string; label: string }[]) => (
    <NativeSelect {...common(name, { data })} value={f[name]} onChange={(e) => edit({ [name]: e.currentTarget.value })} />
  );
  // Whatever is run is agreed to as it is now.
  const anew = (field: ReactNode) => <div onChange={() => setAgreed(false)}>{field}</div>;
  const timeout = text('timeout', {
    description: 'How long a call may run without a sign of the server, such as 5m. By default the limit of the instance.',
  });
  const headers = area('headers', `One “Name: value” per line, sent with every request. ${kept} keeps the stored value.`, {
    error: parseHeaders(f.headers).problem,
  });
  const credentials = choice('credentials', [
    { value: 'shared', label: 'credentials of the server' },
    { value: 'per-user', label: 'credentials of each user' },
  ]);
  const trimmed = (v: string) => v.trim();

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
        <Panel title="Connection" pad>
          <div className="stack">
            {command ? (
              <>
                {anew(text('command', { error: split.problem }))}
                {anew(text('cwd'))}
                {anew(area('env', `One NAME=value per line. ${kept} keeps the stored value.`, { error: vars.problem }))}
                {runs && may && <Consent words={split.words} env={vars.env} checked={agreed} setChecked={setAgreed} />}
              </>
            ) : (
              <>
                {text('url', generated ? { label: 'Base URL of the API' } : {}, trimmed)}
                {!generated &&
                  choice('transport', [
                    { value: 'http', label: 'Streamable HTTP' },
                    { value: 'sse', label: 'HTTP+SSE (2024-11-05)' },
                  ])}
                <AuthFields draft={f.auth} change={(auth) => edit({ auth })} keyLabel={keyLabels[s.api?.key_in ?? '']} disabled={lock} />
                {generated && credentials}
                {headers}
                {generated && number('rate', '0 means no limit.')}
                {generated && timeout}
              </>
            )}
          </div>
        </Panel>
        <Panel title={generated ? 'Tools' : 'Use'} pad>
          <div className="stack">
            {text('title', { placeholder: s.id, styles: {} })}
            <Checkbox {...common('isPrivate', {})} checked={f.isPrivate} onChange={(e) => edit({ isPrivate: e.currentTarget.checked })} />
            {generated ? (
              <>
                {choice('exposure', [
                  { value: 'auto', label: 'Auto: all, or by search if there are many' },
                  { value: 'all', label: 'all' },
                  { value: 'search', label: 'by search: three tools search, describe and call the others' },
                ])}
                {area(
                  'rules',
                  'One rule per line; the first match decides: GET, /pets/**, tag:pets, op:list*, deprecated. A leading ! excludes. Without rules, all operations except deprecated ones.',
                )}
                {choice('mutations', [
                  ...(s.api?.mutations ? [] : [{ value: '', label: 'default' }]),
                  { value: 'none', label: 'none' },
                  { value: 'explicit', label: 'those that a rule selects' },
                  { value: 'all', label: 'all' },
                ])}
                {text('documentURL', {}, trimmed)}
                {number('poll', 'Junctor applies changes automatically. Breaking changes wait for approval. 0 disables the check.', {
                  max: 44640,
                  disabled: lock || !f.documentURL,
                })}
              </>
            ) : (
              <>
                {!command && credentials}
                {choice('isolation', [
                  { value: 'shared', label: 'shared by all callers' },
                  { value: 'session', label: 'one connection per client session' },
                  { value: 'user', label: 'one connection per caller' },
                ])}
                {command &&
                  choice('home', [
                    { value: 'each', label: 'runs on each replica that needs it' },
                    { value: 'one', label: 'runs on one replica for all' },
                  ])}
                {number('sessions', '0 means the default.', { max: 10000, label: command ? 'Maximum processes' : 'Maximum connections' })}
                {timeout}
              </>
            )}
          </div>
        </Panel>
      </div>
      {may && (
        <div className="acts">
          <Button type="submit" loading={saving.busy} disabled={!changed || !!problem || (runs && !agreed)}>
            Save
          </Button>
          <span className="small soft">
            {problem || (changed && !generated ? 'If the connection changes, Junctor tests it first.' : '')}
          </span>
        </div>
      )}
      {saving.error !== null && <ErrorCard error={saving.error} />}
      {saving.dialog}
    </form>
  );
}

const mono = { input: { fontFamily: 'var(--mono)' } };

// keyLabels name the place of an API key that is not a header.
const keyLabels: Record<string, string> = { query: 'Query parameter', cookie: 'Cookie' };
