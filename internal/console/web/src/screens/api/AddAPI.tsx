import { Button, Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { type APIPreview, send } from '../../api/client';
import { suggestID } from '../../parts/command';
import { authOf, ruleLines } from '../../parts/connection';
import { Panel, Tabs } from '../../parts/elements';
import { count, counted, short } from '../../parts/format';
import { ErrorCard } from '../../parts/states';
import { useParam } from '../../parts/url';
import { AuthFields } from '../server/AuthFields';
import { type DocumentDraft, DocumentInput, documentOf, emptyDocument } from './DocumentInput';
import { DataModels, Operations, Schemes, toolCount } from './Operations';
import { Problems, type Spot } from './Problems';
import { Readers } from './Readers';
import { type Body, type Reading, useReading } from './reading';
import {
  AuthOptions,
  BaseAddress,
  defaultOptions,
  Exposure,
  MoreOptions,
  missingCredential,
  moreOf,
  type ServerOptions,
} from './ServerOptions';

// The document that somebody is about to add stays while they look at another way
// or screen. It is no part of the browser's storage, which is too small for it.
let unsaved: DocumentDraft = emptyDocument;

// AddAPI makes a server of an API's documentation: it is read and looked at
// before anything is saved.
export default function AddAPI({ text }: { text: string }) {
  const [given, setGiven] = useState<DocumentDraft>(() => (text ? pasted(text) : unsaved));
  const [options, setOptions] = useState<ServerOptions>(defaultOptions);
  const [seen, setSeen] = useState(''); // what the preview was made of
  const { reading, read, forget } = useReading();
  useEffect(() => {
    unsaved = given;
  }, [given]);

  const { preview } = reading;
  const body = bodyOf(given, options, preview);
  const mark = JSON.stringify([options.base, options.rules, options.show === 'some', options.mutations]);
  const current = preview !== null && seen === mark;
  const look = async () => {
    if (!body) return;
    setSeen(mark);
    // What was looked at is what is added: the text is not fetched twice.
    await read(reading.text && preview ? { ...body, document: reading.text } : body);
  };
  return (
    <>
      <div className="columns wide-left">
        <Panel title="Documentation" pad>
          <form
            className="stack"
            onSubmit={(e) => {
              e.preventDefault();
              void look();
            }}
          >
            <DocumentInput
              given={given}
              change={(part) => {
                setGiven({ ...given, ...part });
                forget();
              }}
            />
            {given.from === 'url' && !preview && (
              <DocumentAuth options={options} url={given.url} change={(part) => setOptions({ ...options, ...part })} />
            )}
            <div className="acts">
              <Button type="submit" variant={current ? 'default' : 'filled'} disabled={!body} loading={reading.busy}>
                {preview ? 'Read again' : 'Read'}
              </Button>
              {!preview && <span className="small soft">You see a preview before anything is added.</span>}
            </div>
          </form>
        </Panel>
        <Panel title="Progress" pad>
          <div className="stack">
            <Readers reading={reading} />
            {reading.error ? <ErrorCard error={reading.error} /> : null}
          </div>
        </Panel>
      </div>
      {preview && preview.endpoints.length === 0 && (
        <>
          <section className="notice">
            <p className="grow">
              <b>No reader recognizes this document.</b>{' '}
              <span className="soft">See the reason of each reader above. Choose the format, or enter the operations by hand.</span>
            </p>
            <Button
              size="compact-sm"
              onClick={() => {
                setGiven({ ...given, from: 'table' });
                forget();
              }}
            >
              Enter operations
            </Button>
          </section>
          {preview.problems.length > 0 && <PreviewTabs preview={preview} text={reading.text} />}
        </>
      )}
      {preview && preview.endpoints.length > 0 && (
        <Save
          reading={reading}
          preview={preview}
          body={body}
          current={current}
          look={look}
          options={options}
          change={(part) => setOptions({ ...options, ...part })}
          given={given}
          added={() => {
            unsaved = emptyDocument;
          }}
        />
      )}
    </>
  );
}

const pasted = (text: string): DocumentDraft =>
  /^https?:\/\/\S+$/i.test(text.trim()) ? { ...emptyDocument, url: text.trim() } : { ...emptyDocument, from: 'text', text };

// DocumentAuth is for documentation that wants to know who reads it.
function DocumentAuth({ options, url, change }: { options: ServerOptions; url: string; change: (part: Partial<ServerOptions>) => void }) {
  const origin = URL.canParse(url) ? new URL(url).origin : '';
  return (
    <details>
      <summary className="small soft">The documentation requires a login</summary>
      <div className="stack" style={{ marginTop: '0.625rem' }}>
        <AuthFields
          draft={options.auth}
          label="Authentication"
          types={['none', 'bearer', 'api-key', 'basic', 'oauth-client']}
          change={(auth) => change({ auth, scheme: auth.type === 'none' ? '' : 'other', base: options.base || origin })}
        />
        {options.auth.type !== 'none' && (
          <TextInput
            label="Base URL of the API"
            description="Credentials are sent only to this origin, so the document must be on it."
            value={options.base}
            onChange={(e) => change({ base: e.currentTarget.value.trim() })}
          />
        )}
      </div>
    </details>
  );
}

function bodyOf(given: DocumentDraft, options: ServerOptions, preview: APIPreview | null): Body | undefined {
  const document = documentOf(given, options.base);
  if (!document) return undefined;
  const b: Body = { ...moreOf(options).body, id: options.id || suggest(given, preview), mode: 'auto-generated', ...document };
  if (options.base) b.base_url = options.base;
  const perUser = options.perUser && options.scheme !== '';
  if (options.auth.type !== 'none' && (options.auth.secret || !perUser || options.auth.type === 'oauth')) b.auth = authOf(options.auth);
  if (perUser) b.credentials = 'per-user';
  if (options.isPrivate) b.private = true;
  if (options.show === 'all' || options.show === 'search') b.exposure = options.show;
  const rules = ruleLines(options.rules);
  if (rules.length > 0) b.include = rules;
  if (options.mutations) b.mutations = options.mutations as NonNullable<Body['mutations']>;
  return b;
}

// suggest makes an id: of the API's title where it has one, else of its address.
function suggest(given: DocumentDraft, preview: APIPreview | null): string {
  const title = (preview?.title || given.title).replace(/\b(the|api|rest|service|swagger|openapi|v?\d+(\.\d+)*)\b/gi, ' ').trim();
  const words = title.split(/[^A-Za-z0-9]+/).filter(Boolean);
  const base = preview?.base_url || given.url;
  return suggestID([words.slice(0, 2).join('-')]) || (base ? suggestID([base]) : '') || 'api';
}

function Save({
  reading,
  preview,
  body,
  current,
  look,
  options,
  change,
  given,
  added,
}: {
  reading: Reading;
  preview: APIPreview;
  body: Body | undefined;
  current: boolean;
  look: () => Promise<void>;
  options: ServerOptions;
  change: (part: Partial<ServerOptions>) => void;
  given: DocumentDraft;
  added: () => void;
}) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const name = body?.id ?? '';
  const named = /^[a-z][a-z0-9-]{0,31}$/.test(name);
  const missing = missingCredential(options);
  const errors = preview.problems.filter((p) => p.severity === 'error').length;
  const based = options.base || preview.base_url;
  const ready = named && current && !missing && moreOf(options).right && !!based && toolCount(preview) > 0 && !adding;
  const add = async () => {
    setAdding(true);
    setError(null);
    try {
      await send('POST', '/servers', { ...body, document: reading.text });
      added();
      await Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
      navigate(`/servers/${name}${options.auth.type === 'oauth' ? '?tab=sign-in' : ''}`);
    } catch (err) {
      setError(err);
      setAdding(false);
    }
  };
  return (
    <>
      <div className="figures">
        <Figure name="Tools" value={count(toolCount(preview))} note={`of ${counted(preview.endpoints.length, 'operation')}`} />
        <Figure
          name="Incomplete"
          value={count(preview.incomplete)}
          note={
            preview.partial > 0
              ? `${count(preview.partial)} can still be called`
              : preview.excluded > 0
                ? `${count(preview.excluded)} excluded`
                : 'operations'
          }
          bad={preview.incomplete > 0}
        />
        <Figure name="Tokens" value={short(preview.tokens)} note="for all tool definitions" />
        <Figure name="Data models" value={count(preview.models.length)} note={counted(preview.auth.length, 'authentication scheme')} />
        <Figure name="Problems" value={count(preview.problems.length)} note={counted(errors, 'error')} />
      </div>
      <Panel title="Server" pad>
        <form
          className="stack"
          onSubmit={(e) => {
            e.preventDefault();
            if (ready) void add();
          }}
        >
          <div className="columns">
            <div className="stack">
              <BaseAddress preview={preview} options={options} change={change} />
              <AuthOptions preview={preview} options={options} change={change} />
            </div>
            <div className="stack">
              <Exposure preview={preview} options={options} change={change} />
              <TextInput
                label="ID"
                description="Prefix of the tool names: id__name."
                placeholder={name}
                value={options.id}
                error={name && !named ? 'Start with a lowercase letter, then up to 31 lowercase letters, digits or hyphens.' : undefined}
                onChange={(e) => change({ id: e.currentTarget.value })}
              />
              <Checkbox
                label="Private: visible only to me"
                checked={options.isPrivate}
                onChange={(e) => change({ isPrivate: e.currentTarget.checked })}
              />
            </div>
          </div>
          <MoreOptions options={options} change={change} />
          <div className="acts">
            {!current && (
              <Button variant="default" loading={reading.busy} onClick={() => void look()}>
                Update the preview
              </Button>
            )}
            <Button type="submit" disabled={!ready} loading={adding}>
              Add {name || 'it'}
            </Button>
            <span className="small soft">
              {missing ||
                (!current ? 'Options changed. Update the preview first.' : toolCount(preview) === 0 ? 'No operation can be called.' : '')}
              {given.from === 'url' && current && !missing ? 'The server is added as shown in the preview.' : ''}
            </span>
          </div>
          {error !== null && <ErrorCard error={error} />}
        </form>
      </Panel>
      <PreviewTabs preview={preview} text={reading.text} />
    </>
  );
}

const Figure = ({ name, value, note, bad = false }: { name: string; value: string; note: string; bad?: boolean }) => (
  <div className={`figure ${bad ? 'bad' : ''}`}>
    <div className="name">{name}</div>
    <div className="value">{value}</div>
    <div className="note">{note}</div>
  </div>
);

// PreviewTabs is all that a document comes to, part by part.
export function PreviewTabs({ preview, text }: { preview: APIPreview; text: string }) {
  const empty = preview.endpoints.length === 0;
  const [part, setPart] = useParam('part', empty ? 'problems' : 'tools');
  const [spot, setSpot] = useState<Spot>();
  const show = (s: Spot) => {
    setSpot(s);
    setPart('problems');
  };
  return (
    <>
      <Tabs
        label="Preview"
        now={part}
        choose={setPart}
        tabs={[
          ['tools', `Tools ${toolCount(preview)}`],
          ['problems', `Problems and text ${preview.problems.length}`],
          ['models', `Data models ${preview.models.length}`],
          ['auth', `Authentication ${preview.auth.length}`],
        ]}
      />
      {part === 'tools' && <Operations preview={preview} show={show} />}
      {part === 'problems' && <Problems problems={preview.problems} text={text} file={preview.file} spot={spot} show={setSpot} />}
      {part === 'models' && <DataModels models={preview.models} show={show} />}
      {part === 'auth' && <Schemes auth={preview.auth} all={preview.endpoints.length} />}
    </>
  );
}
