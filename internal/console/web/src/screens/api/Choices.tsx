import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { APIPreview } from '../../api/client';
import { Tag } from '../../parts/bits';
import { type AuthType, type Draft, lacks } from '../../parts/connection';
import { count } from '../../parts/format';
import { AuthFields } from '../server/AuthFields';
import { schemeNames, whereOf } from './Found';

export type Show = 'auto' | 'all' | 'some' | 'search';

// Wish is what somebody wants of a server that is made of a document.
export interface Wish {
  id: string;
  base: string;
  scheme: string; // of the document; "other" for one that it does not declare
  auth: Draft;
  perUser: boolean;
  isPrivate: boolean;
  show: Show;
  rules: string; // a line each
  mutations: string;
}

// wants says what is missing yet of the credentials; "" where nothing is.
export function wants(wish: Wish): string {
  if (wish.auth.type === 'none') return '';
  // A document says where people log in, and for that a client is registered there.
  if (wish.auth.type === 'oauth') return wish.scheme !== 'other' && !wish.auth.client_id ? 'The client is missing.' : '';
  return wish.perUser ? '' : lacks(wish.auth);
}

export const nothingWished: Wish = {
  id: '',
  base: '',
  scheme: '',
  auth: { type: 'none' },
  perUser: false,
  isPrivate: false,
  show: 'auto',
  rules: '',
  mutations: '',
};

export const rulesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((r) => r.trim())
    .filter(Boolean);

const ofAPI: AuthType[] = ['bearer', 'api-key', 'basic', 'oauth', 'oauth-client'];

// KnownBy is how the API knows who calls: by one of the document's schemes, or
// otherwise.
export function KnownBy({ preview, wish, change }: { preview: APIPreview; wish: Wish; change: (part: Partial<Wish>) => void }) {
  const schemes = preview.auth.filter((a) => a.suggested);
  const chosen = schemes.find((a) => a.scheme === wish.scheme);
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
        label="The API knows who calls by"
        value={wish.scheme}
        data={[
          { value: '', label: schemes.length > 0 ? 'nothing: I enter no credentials' : 'nothing' },
          ...schemes.map((a) => ({ value: a.scheme, label: `${a.scheme}: ${schemeNames[a.type] ?? a.type} ${whereOf(a)}` })),
          { value: 'other', label: 'something that the document does not say' },
        ]}
        onChange={(e) => choose(e.currentTarget.value)}
      />
      {wish.scheme !== '' && (
        <AuthFields
          draft={wish.auth}
          change={(auth) => change({ auth })}
          types={chosen ? [wish.auth.type] : ofAPI}
          label="Which is entered as"
          keyLabel={chosen?.type === 'apiKey' ? placeName(chosen.in) : undefined}
        />
      )}
      {chosen && wish.auth.type === 'oauth' && (
        <p className="small soft wrap">
          Register a client where the API is run, with the redirect address <code>{window.location.origin}/connected</code>, and enter what
          you are given. People log in once it is added.
        </p>
      )}
      {wish.scheme !== '' && (
        <Checkbox
          label="Calls are made with each user’s own credentials"
          checked={wish.perUser}
          onChange={(e) => change({ perUser: e.currentTarget.checked })}
        />
      )}
    </>
  );
}

const placeName = (place: string | undefined) => (place === 'query' ? 'Query parameter' : place === 'cookie' ? 'Cookie' : 'Header');

// Exposure is how the tools are listed, and which of the operations become some.
export function Exposure({ preview, wish, change }: { preview: APIPreview; wish: Wish; change: (part: Partial<Wish>) => void }) {
  const chosen = rulesOf(wish.rules);
  const toggle = (rule: string) =>
    change({ show: 'some', rules: (chosen.includes(rule) ? chosen.filter((r) => r !== rule) : [...chosen, rule]).join('\n') });
  const tags = new Map<string, number>();
  for (const e of preview.endpoints) for (const t of e.tags ?? []) tags.set(t, (tags.get(t) ?? 0) + 1);
  const offered = [
    ['GET', preview.endpoints.filter((e) => e.key.startsWith('GET ')).length] as const,
    ...[...tags].sort((a, b) => b[1] - a[1]).map(([t, n]) => [`tag:${t}`, n] as const),
  ].filter(([, n]) => n > 0);
  const own = preview.exposure === 'search' ? 'search, since there are many' : 'all';
  return (
    <>
      <NativeSelect
        label="Its tools are listed"
        description={
          wish.show === 'search' || (wish.show === 'auto' && preview.exposure === 'search')
            ? 'Three tools find, describe and call the others: about 400 tokens in a model’s list.'
            : `About ${count(preview.tokens)} tokens in a model’s list.`
        }
        value={wish.show}
        data={[
          { value: 'auto', label: `by itself: ${own}` },
          { value: 'all', label: 'all' },
          { value: 'some', label: 'only some of them' },
          { value: 'search', label: 'by search' },
        ]}
        onChange={(e) => change({ show: e.currentTarget.value as Show })}
      />
      {(wish.show === 'some' || chosen.length > 0) && (
        <>
          <Textarea
            label="Which operations"
            description="A rule each line, the first that fits decides: GET, /pets/**, tag:pets, op:list*, deprecated; ! before it leaves out."
            autosize
            minRows={2}
            maxRows={8}
            classNames={{ input: 'mono' }}
            value={wish.rules}
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
          value={wish.mutations}
          data={[
            { value: '', label: 'as usual' },
            { value: 'none', label: 'none of them' },
            { value: 'explicit', label: 'those that a rule names' },
            { value: 'all', label: 'all of them' },
          ]}
          onChange={(e) => change({ mutations: e.currentTarget.value })}
        />
      )}
    </>
  );
}

// Base is where the API is called.
export function Base({ preview, wish, change }: { preview: APIPreview; wish: Wish; change: (part: Partial<Wish>) => void }) {
  const bases = (preview.bases ?? []).filter((b) => /^https?:/.test(b));
  return (
    <>
      <TextInput
        label="Where the API is called"
        description={preview.base_url && !wish.base ? `The document says ${preview.base_url}.` : undefined}
        placeholder={preview.base_url || 'https://api.example.com/v1'}
        value={wish.base}
        error={!wish.base && !preview.base_url ? 'The document does not say it.' : undefined}
        styles={{ input: { fontFamily: 'var(--mono)' } }}
        onChange={(e) => change({ base: e.currentTarget.value.trim() })}
      />
      {bases.length > 1 && (
        <div className="row" style={{ gap: '0.375rem' }}>
          <Tag>it names</Tag>
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
