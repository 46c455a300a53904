import { Button, Checkbox, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schemas, type ServerDetail, send } from '../../api/client';
import { Panel } from '../../parts/bits';
import { authOf, type Draft, kept, lacks, lines, parseHeaders } from '../../parts/connection';
import { ErrorCard } from '../../parts/states';
import { AuthFields } from '../server/AuthFields';
import { rulesOf } from './Choices';

type Patch = Omit<Schemas['ServerPatchBody'], '$schema'>;

const draftOf = (s: ServerDetail): Draft => ({ ...((s.auth as Draft | undefined) ?? { type: 'none' }) });
const mono = { input: { fontFamily: 'var(--mono)' } };

// ApiSettings are what can be changed of a server that is made of a document,
// beside its tools.
export function ApiSettings({ s, may }: { s: ServerDetail; may: boolean }) {
  const cache = useQueryClient();
  const api = s.api ?? {};
  const [title, setTitle] = useState(s.title ?? '');
  const [isPrivate, setPrivate] = useState(s.private ?? false);
  const [base, setBase] = useState(s.url ?? '');
  const [auth, setAuth] = useState<Draft>(draftOf(s));
  const [headers, setHeaders] = useState(lines(s.headers, ': '));
  const [credentials, setCredentials] = useState(s.credentials || 'shared');
  const [exposure, setExposure] = useState(api.exposure || 'auto');
  const [rules, setRules] = useState((api.include ?? []).join('\n'));
  const [mutations, setMutations] = useState(api.mutations ?? '');
  const [rate, setRate] = useState(api.rate ?? 0);
  const [url, setURL] = useState(api.document_url ?? '');
  const [poll, setPoll] = useState(api.poll_minutes ?? 0);
  const [timeout, setTimeout] = useState((s.timeout_ms ?? 0) / 1000);

  const heads = parseHeaders(headers);
  const patch: Patch = {};
  if (title !== (s.title ?? '')) patch.title = title;
  if (isPrivate !== (s.private ?? false)) patch.private = isPrivate;
  if (base !== (s.url ?? '')) patch.base_url = base;
  if (JSON.stringify(authOf(auth)) !== JSON.stringify(authOf(draftOf(s)))) patch.auth = authOf(auth);
  if (headers !== lines(s.headers, ': ')) patch.headers = heads.headers;
  if (credentials !== (s.credentials || 'shared')) patch.credentials = credentials;
  if (exposure !== (api.exposure || 'auto')) patch.exposure = exposure as NonNullable<Patch['exposure']>;
  if (rulesOf(rules).join('\n') !== (api.include ?? []).join('\n')) patch.include = rulesOf(rules);
  if (mutations !== (api.mutations ?? '')) patch.mutations = mutations as NonNullable<Patch['mutations']>;
  if (rate !== (api.rate ?? 0)) patch.rate = rate;
  if (url !== (api.document_url ?? '')) patch.document_url = url;
  if (poll !== (api.poll_minutes ?? 0)) patch.poll_minutes = poll;
  if (timeout * 1000 !== (s.timeout_ms ?? 0)) patch.timeout_ms = Math.round(timeout * 1000);

  const problem = heads.problem || (patch.auth ? lacks(auth) : '');
  const save = useMutation({
    mutationFn: () => send('PATCH', `/servers/${s.id}`, patch),
    onSuccess: () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]),
  });
  const lock = !may || save.isPending;
  return (
    <form
      className="stack"
      style={{ gap: '1.125rem' }}
      onSubmit={(e) => {
        e.preventDefault();
        save.mutate();
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
              onChange={(e) => setBase(e.currentTarget.value.trim())}
            />
            <AuthFields
              draft={auth}
              change={setAuth}
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
              onChange={(e) => setCredentials(e.currentTarget.value as typeof credentials)}
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
              onChange={(e) => setHeaders(e.currentTarget.value)}
            />
            <NumberInput
              label="Requests a second, at most"
              description="0 is no bound."
              min={0}
              hideControls
              disabled={lock}
              value={rate}
              onChange={(v) => setRate(Number(v) || 0)}
            />
            <NumberInput
              label="Seconds that a call may take"
              description="0 is the instance’s own limit."
              min={0}
              max={86400}
              hideControls
              disabled={lock}
              value={timeout}
              onChange={(v) => setTimeout(Number(v) || 0)}
            />
          </div>
        </Panel>
        <Panel title="What is shown of it" pad>
          <div className="stack">
            <TextInput label="Title" value={title} placeholder={s.id} disabled={lock} onChange={(e) => setTitle(e.currentTarget.value)} />
            <Checkbox
              label="Only its owner sees it"
              checked={isPrivate}
              disabled={lock}
              onChange={(e) => setPrivate(e.currentTarget.checked)}
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
              onChange={(e) => setExposure(e.currentTarget.value)}
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
              onChange={(e) => setRules(e.currentTarget.value)}
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
              onChange={(e) => setMutations(e.currentTarget.value)}
            />
            <TextInput
              label="Address of the documentation"
              value={url}
              disabled={lock}
              styles={mono}
              onChange={(e) => setURL(e.currentTarget.value.trim())}
            />
            <NumberInput
              label="Minutes between looks at it"
              description="Changes are taken over by themselves; those that break callers wait for a person. 0 is never."
              min={0}
              max={44640}
              hideControls
              disabled={lock || !url}
              value={poll}
              onChange={(v) => setPoll(Number(v) || 0)}
            />
          </div>
        </Panel>
      </div>
      {may && (
        <div className="acts">
          <Button type="submit" loading={save.isPending} disabled={Object.keys(patch).length === 0 || !!problem}>
            Save
          </Button>
          <span className="small soft">{problem}</span>
        </div>
      )}
      {save.error && <ErrorCard error={save.error} />}
    </form>
  );
}
