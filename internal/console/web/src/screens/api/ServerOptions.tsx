import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { APIPreview, Server } from '../../api/client';
import { type AuthType, type Draft, lacks, ruleLines } from '../../parts/connection';
import { Tag } from '../../parts/elements';
import { count } from '../../parts/format';
import { instanceURL } from '../../parts/instanceURL';
import { AuthFields } from '../server/AuthFields';
import { Advanced } from '../server/Fields';
import { fieldsIn, fieldsOf, patchOf, type ServerFields, type ServerPatch, wrongFields } from '../server/serverFields';
import { schemeNames, whereOf } from './Operations';

export type Show = 'auto' | 'all' | 'some' | 'search';

// ServerOptions is what somebody wants of a server that is made of a document.
export interface ServerOptions {
  id: string;
  base: string;
  scheme: string; // of the document; "other" for one that it does not declare
  auth: Draft;
  perUser: boolean;
  isPrivate: boolean;
  show: Show;
  rules: string; // a line each
  mutations: string;
  more: Partial<ServerFields>; // settings that few servers need
}

// missingCredential says what is missing yet of the credentials; "" where nothing is.
export function missingCredential(options: ServerOptions): string {
  if (options.auth.type === 'none') return '';
  // A document says where people log in, and for that a client is registered there.
  if (options.auth.type === 'oauth') return options.scheme !== 'other' && !options.auth.client_id ? 'Enter the client ID.' : '';
  return options.perUser ? '' : lacks(options.auth);
}

export const defaultOptions: ServerOptions = {
  id: '',
  base: '',
  scheme: '',
  auth: { type: 'none' },
  perUser: false,
  isPrivate: false,
  show: 'auto',
  rules: '',
  mutations: '',
  more: {},
};

// The server before anything of it is entered.
const nothing = { mode: 'auto-generated' } as Server;
const stored = fieldsOf(nothing);
const advanced = (['connection', 'use', 'advanced'] as const)
  .flatMap((group) => fieldsIn(group, 'generated'))
  .filter((n) => !['url', 'auth', 'private', 'credentials', 'exposure', 'include', 'mutations', 'document_url'].includes(n));

// moreOf is what is sent of the settings that few servers need, and whether they are right.
export function moreOf(options: ServerOptions): { body: ServerPatch; right: boolean } {
  const fields = { ...stored, ...options.more };
  return { body: patchOf(fields, nothing), right: wrongFields(fields, nothing).length === 0 };
}

// MoreOptions are the settings that few servers need.
export function MoreOptions({ options, change }: { options: ServerOptions; change: (part: Partial<ServerOptions>) => void }) {
  const fields = { ...stored, ...options.more };
  return (
    <Advanced
      names={advanced}
      open={false}
      kind="generated"
      fields={fields}
      stored={stored}
      wrong={wrongFields(fields, nothing)}
      change={(part) => change({ more: { ...options.more, ...part } })}
    />
  );
}

const ofAPI: AuthType[] = ['bearer', 'api-key', 'basic', 'oauth', 'oauth-client'];

// AuthOptions is how the API knows who calls: by one of the document's schemes, or
// otherwise.
export function AuthOptions({
  preview,
  options,
  change,
}: {
  preview: APIPreview;
  options: ServerOptions;
  change: (part: Partial<ServerOptions>) => void;
}) {
  const schemes = preview.auth.filter((a) => a.suggested);
  const chosen = schemes.find((a) => a.scheme === options.scheme);
  const choose = (scheme: string) => {
    const a = schemes.find((x) => x.scheme === scheme);
    const auth: Draft = a
      ? {
          type: a.suggested as AuthType,
          ...(a.suggested === 'api-key' && a.name ? { header: a.name } : {}),
          ...(a.token_url ? { token_url: a.token_url } : {}),
        }
      : { type: scheme === 'other' ? 'bearer' : 'none' };
    change({ scheme, auth });
  };
  return (
    <>
      <NativeSelect
        label="Authentication scheme"
        value={options.scheme}
        data={[
          { value: '', label: schemes.length > 0 ? 'none: send no credentials' : 'none' },
          ...schemes.map((a) => ({ value: a.scheme, label: `${a.scheme}: ${schemeNames[a.type] ?? a.type} ${whereOf(a)}` })),
          { value: 'other', label: 'other, not in the document' },
        ]}
        onChange={(e) => choose(e.currentTarget.value)}
      />
      {options.scheme !== '' && (
        <AuthFields
          draft={options.auth}
          change={(auth) => change({ auth })}
          types={chosen ? [options.auth.type] : ofAPI}
          label="Credential type"
          keyLabel={chosen?.type === 'apiKey' ? placeName(chosen.in) : undefined}
        />
      )}
      {chosen && options.auth.type === 'oauth' && (
        <p className="small soft wrap">
          Register an OAuth client with the API provider. Use the redirect URI <code>{instanceURL()}/connected</code>, and enter the client
          here. Users log in after the server is added.
        </p>
      )}
      {options.scheme !== '' && (
        <Checkbox
          label="Make calls with each user’s own credentials"
          checked={options.perUser}
          onChange={(e) => change({ perUser: e.currentTarget.checked })}
        />
      )}
    </>
  );
}

const placeName = (place: string | undefined) => (place === 'query' ? 'Query parameter' : place === 'cookie' ? 'Cookie' : 'Header');

// Exposure is how the tools are listed, and which of the operations become some.
export function Exposure({
  preview,
  options,
  change,
}: {
  preview: APIPreview;
  options: ServerOptions;
  change: (part: Partial<ServerOptions>) => void;
}) {
  const chosen = ruleLines(options.rules);
  const toggle = (rule: string) =>
    change({ show: 'some', rules: (chosen.includes(rule) ? chosen.filter((r) => r !== rule) : [...chosen, rule]).join('\n') });
  const tags = new Map<string, number>();
  for (const e of preview.endpoints) for (const t of e.tags ?? []) tags.set(t, (tags.get(t) ?? 0) + 1);
  const offered = [
    ['GET', preview.endpoints.filter((e) => e.key.startsWith('GET ')).length] as const,
    ...[...tags].sort((a, b) => b[1] - a[1]).map(([t, n]) => [`tag:${t}`, n] as const),
  ].filter(([, n]) => n > 0);
  const own = preview.exposure === 'search' ? 'search, because there are many' : 'all';
  return (
    <>
      <NativeSelect
        label="Tool listing"
        description={
          options.show === 'search' || (options.show === 'auto' && preview.exposure === 'search')
            ? 'Three tools search, describe and call the others, for about 400 tokens.'
            : `About ${count(preview.tokens)} tokens for all tool definitions.`
        }
        value={options.show}
        data={[
          { value: 'auto', label: `Auto: ${own}` },
          { value: 'all', label: 'all' },
          { value: 'some', label: 'selected operations' },
          { value: 'search', label: 'by search' },
        ]}
        onChange={(e) => change({ show: e.currentTarget.value as Show })}
      />
      {(options.show === 'some' || chosen.length > 0) && (
        <>
          <Textarea
            label="Operations"
            description="One rule per line; the first match decides: GET, /pets/**, tag:pets, op:list*, deprecated. A leading ! excludes."
            autosize
            minRows={2}
            maxRows={8}
            classNames={{ input: 'mono' }}
            value={options.rules}
            onChange={(e) => change({ rules: e.currentTarget.value })}
          />
          {offered.length > 0 && (
            <div className="row" style={{ gap: '0.375rem' }}>
              {offered.slice(0, 24).map(([rule, n]) => (
                <Button
                  key={rule}
                  size="compact-xs"
                  variant={chosen.includes(rule) ? 'filled' : 'default'}
                  aria-pressed={chosen.includes(rule)}
                  onClick={() => toggle(rule)}
                >
                  {rule} <span style={{ marginLeft: '0.375rem', opacity: 0.75 }}>{n}</span>
                </Button>
              ))}
            </div>
          )}
        </>
      )}
      {preview.format.startsWith('graphql') && (
        <NativeSelect
          label="Mutations"
          value={options.mutations}
          data={[
            { value: '', label: 'default' },
            { value: 'none', label: 'none' },
            { value: 'explicit', label: 'those that a rule selects' },
            { value: 'all', label: 'all' },
          ]}
          onChange={(e) => change({ mutations: e.currentTarget.value })}
        />
      )}
    </>
  );
}

// BaseAddress is where the API is called.
export function BaseAddress({
  preview,
  options,
  change,
}: {
  preview: APIPreview;
  options: ServerOptions;
  change: (part: Partial<ServerOptions>) => void;
}) {
  const bases = (preview.bases ?? []).filter((b) => /^https?:/.test(b));
  return (
    <>
      <TextInput
        label="Base URL of the API"
        description={preview.base_url && !options.base ? `From the document: ${preview.base_url}` : undefined}
        placeholder={preview.base_url || 'https://api.example.com/v1'}
        value={options.base}
        error={!options.base && !preview.base_url ? 'The document has no base URL. Enter one.' : undefined}
        styles={{ input: { fontFamily: 'var(--mono)' } }}
        onChange={(e) => change({ base: e.currentTarget.value.trim() })}
      />
      {bases.length > 1 && (
        <div className="row" style={{ gap: '0.375rem' }}>
          <Tag>from the document</Tag>
          {bases.slice(0, 6).map((b) => (
            <Button key={b} size="compact-xs" variant="default" onClick={() => change({ base: b })}>
              {b}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}
