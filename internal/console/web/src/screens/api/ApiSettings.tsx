import { Button, Checkbox, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Schemas, Server, ServerDetail } from '../../api/client';
import { Panel } from '../../parts/bits';
import { useEdits, useSave } from '../../parts/Conflict';
import { authOf, type Draft, kept, lacks, lines, parseHeaders } from '../../parts/connection';
import { ErrorCard } from '../../parts/states';
import { AuthFields } from '../server/AuthFields';
import { rulesOf } from './Choices';

type Patch = Omit<Schemas['ServerPatchBody'], '$schema'>;

const draftOf = (s: Server): Draft => ({ ...((s.auth as Draft | undefined) ?? { type: 'none' }) });
const mono = { input: { fontFamily: 'var(--mono)' } };

// fieldsOf is a server that is made of a document as it stands in the fields of the form.
const fieldsOf = (s: Server) => ({
  title: s.title ?? '',
  isPrivate: s.private ?? false,
  base: s.url ?? '',
  auth: draftOf(s),
  headers: lines(s.headers, ': '),
  credentials: s.credentials || 'shared',
  exposure: (s.api?.exposure || 'auto') as string,
  rules: (s.api?.include ?? []).join('\n'),
  mutations: (s.api?.mutations ?? '') as string,
  rate: s.api?.rate ?? 0,
  url: s.api?.document_url ?? '',
  poll: s.api?.poll_minutes ?? 0,
  timeout: (s.timeout_ms ?? 0) / 1000,
});
type Fields = ReturnType<typeof fieldsOf>;

const labels: Record<string, string> = {
  title: 'Title',
  isPrivate: 'Only its owner sees it',
  base: 'Where the API is called',
  auth: 'How it knows who calls',
  headers: 'Headers',
  credentials: 'Calls are made with',
  exposure: 'Its tools are listed',
  rules: 'Operations',
  mutations: 'Mutations',
  rate: 'Requests a second, at most',
  url: 'Address of the document',
  poll: 'Minutes between looks at it',
  timeout: 'Seconds that a call may take',
};

// patchOf is what the fields change of a server.
function patchOf(f: Fields, s: Server): Patch {
  const was = fieldsOf(s);
  const patch: Patch = {};
  if (f.title !== was.title) patch.title = f.title;
  if (f.isPrivate !== was.isPrivate) patch.private = f.isPrivate;
  if (f.base !== was.base) patch.base_url = f.base;
  if (JSON.stringify(authOf(f.auth)) !== JSON.stringify(authOf(was.auth))) patch.auth = authOf(f.auth);
  if (f.headers !== was.headers) patch.headers = parseHeaders(f.headers).headers;
  if (f.credentials !== was.credentials) patch.credentials = f.credentials;
  if (f.exposure !== was.exposure) patch.exposure = f.exposure as NonNullable<Patch['exposure']>;
  if (rulesOf(f.rules).join('\n') !== was.rules) patch.include = rulesOf(f.rules);
  if (f.mutations !== was.mutations) patch.mutations = f.mutations as NonNullable<Patch['mutations']>;
  if (f.rate !== was.rate) patch.rate = f.rate;
  if (f.url !== was.url) patch.document_url = f.url;
  if (f.poll !== was.poll) patch.poll_minutes = f.poll;
  if (f.timeout !== was.timeout) patch.timeout_ms = Math.round(f.timeout * 1000);
  return patch;
}

// ApiSettings are what can be changed of a server that is made of a document,
// beside its tools.
export function ApiSettings({ s, may }: { s: ServerDetail; may: boolean }) {
  const cache = useQueryClient();
  const api = s.api ?? {};
  const form = useEdits<Server, Fields>(s, fieldsOf);
  const { edit } = form;
  const { title, isPrivate, base, auth, headers, credentials, exposure, rules, mutations, rate, url, poll, timeout } = form.fields;

  const heads = parseHeaders(headers);
  const patch = patchOf(form.fields, form.base);
  const problem = heads.problem || (patch.auth ? lacks(auth) : '');
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/servers/${s.id}`],
    bodyOf: patchOf,
    done: () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]),
    labels,
  });
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
        <Panel title="How the API is called" pad>
          <div className="stack">
            <TextInput
              label="Where the API is called"
              value={base}
              disabled={lock}
              styles={mono}
              onChange={(e) => edit({ base: e.currentTarget.value.trim() })}
            />
            <AuthFields
              draft={auth}
              change={(auth) => edit({ auth })}
              label="How it knows who calls"
              keyLabel={api.key_in === 'query' ? 'Query parameter' : api.key_in === 'cookie' ? 'Cookie' : undefined}
              disabled={lock}
            />
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
            <NumberInput
              label="Requests a second, at most"
              description="0 is no bound."
              min={0}
              hideControls
              disabled={lock}
              value={rate}
              onChange={(v) => edit({ rate: Number(v) || 0 })}
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
        <Panel title="What is shown of it" pad>
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
            <NativeSelect
              label="Its tools are listed"
              value={exposure}
              disabled={lock}
              data={[
                { value: 'auto', label: 'all, or by search where there are many' },
                { value: 'all', label: 'all' },
                { value: 'search', label: 'by search: three tools find, describe and call the others' },
              ]}
              onChange={(e) => edit({ exposure: e.currentTarget.value })}
            />
            <Textarea
              label="Which operations"
              description="A rule each line, the first that fits decides: GET, /pets/**, tag:pets, op:list*, deprecated; ! before it leaves out. None is all but deprecated ones."
              autosize
              minRows={2}
              maxRows={10}
              value={rules}
              disabled={lock}
              styles={mono}
              onChange={(e) => edit({ rules: e.currentTarget.value })}
            />
            <NativeSelect
              label="Mutations, of a GraphQL API"
              value={mutations}
              disabled={lock}
              data={[
                ...(api.mutations ? [] : [{ value: '', label: 'as usual' }]),
                { value: 'none', label: 'none of them' },
                { value: 'explicit', label: 'those that a rule names' },
                { value: 'all', label: 'all of them' },
              ]}
              onChange={(e) => edit({ mutations: e.currentTarget.value })}
            />
            <TextInput
              label="Address of the documentation"
              value={url}
              disabled={lock}
              styles={mono}
              onChange={(e) => edit({ url: e.currentTarget.value.trim() })}
            />
            <NumberInput
              label="Minutes between looks at it"
              description="Changes are taken over by themselves; those that break callers wait for a person. 0 is never."
              min={0}
              max={44640}
              hideControls
              disabled={lock || !url}
              value={poll}
              onChange={(v) => edit({ poll: Number(v) || 0 })}
            />
          </div>
        </Panel>
      </div>
      {may && (
        <div className="acts">
          <Button type="submit" loading={saving.busy} disabled={Object.keys(patch).length === 0 || !!problem}>
            Save
          </Button>
          <span className="small soft">{problem}</span>
        </div>
      )}
      {saving.error !== null && <ErrorCard error={saving.error} />}
      {saving.dialog}
    </form>
  );
}
