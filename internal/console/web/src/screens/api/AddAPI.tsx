import { Button, Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { type APIPreview, send } from '../../api/client';
import { Panel, Tabs } from '../../parts/bits';
import { suggestID } from '../../parts/command';
import { authOf } from '../../parts/connection';
import { count, counted, short } from '../../parts/format';
import { ErrorCard } from '../../parts/states';
import { useParam } from '../../parts/url';
import { AuthFields } from '../server/AuthFields';
import { Base, Exposure, KnownBy, nothingWished, rulesOf, type Wish, wants } from './Choices';
import { Endpoints, Models, Schemes, toolCount } from './Found';
import { documentOf, type Given, nothingGiven, Origin } from './Origin';
import { Problems, type Spot } from './Problems';
import { Readers } from './Readers';
import { type Body, type Reading, useReading } from './reading';

// The document that somebody is about to add stays while they look at another way
// or screen. It is no part of the browser's storage, which is too small for it.
let unsaved: Given = nothingGiven;

// AddAPI makes a server of an API's documentation: it is read and looked at
// before anything is saved.
export default function AddAPI({ text }: { text: string }) {
  const [given, setGiven] = useState<Given>(() => (text ? pasted(text) : unsaved));
  const [wish, setWish] = useState<Wish>(nothingWished);
  const [seen, setSeen] = useState(''); // what the preview was made of
  const { reading, read, forget } = useReading();
  useEffect(() => {
    unsaved = given;
  }, [given]);

  const { preview } = reading;
  const body = bodyOf(given, wish, preview);
  const mark = JSON.stringify([wish.base, wish.rules, wish.show === 'some', wish.mutations]);
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
        <Panel title="The documentation" pad>
          <form
            className="stack"
            onSubmit={(e) => {
              e.preventDefault();
              void look();
            }}
          >
            <Origin
              given={given}
              change={(part) => {
                setGiven({ ...given, ...part });
                forget();
              }}
            />
            {given.from === 'url' && !preview && <Behind wish={wish} url={given.url} change={(part) => setWish({ ...wish, ...part })} />}
            <div className="acts">
              <Button type="submit" variant={current ? 'default' : 'filled'} disabled={!body} loading={reading.busy}>
                {preview ? 'Read it again' : 'Read it'}
              </Button>
              {!preview && <span className="small soft">Nothing is added before you have seen what comes of it.</span>}
            </div>
          </form>
        </Panel>
        <Panel title="How it is read" pad>
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
              <b>Nothing could be made of it.</b>{' '}
              <span className="soft">
                What each reader says is above. Name the format, or write down its methods, paths and parameters.
              </span>
            </p>
            <Button
              size="compact-sm"
              onClick={() => {
                setGiven({ ...given, from: 'table' });
                forget();
              }}
            >
              Write them by hand
            </Button>
          </section>
          {preview.problems.length > 0 && <Look preview={preview} text={reading.text} />}
        </>
      )}
      {preview && preview.endpoints.length > 0 && (
        <Save
          reading={reading}
          preview={preview}
          body={body}
          current={current}
          look={look}
          wish={wish}
          change={(part) => setWish({ ...wish, ...part })}
          given={given}
          added={() => {
            unsaved = nothingGiven;
          }}
        />
      )}
    </>
  );
}

const pasted = (text: string): Given =>
  /^https?:\/\/\S+$/i.test(text.trim()) ? { ...nothingGiven, url: text.trim() } : { ...nothingGiven, from: 'text', text };

// Behind is for documentation that wants to know who reads it.
function Behind({ wish, url, change }: { wish: Wish; url: string; change: (part: Partial<Wish>) => void }) {
  const origin = URL.canParse(url) ? new URL(url).origin : '';
  return (
    <details>
      <summary className="small soft">It is behind a login</summary>
      <div className="stack" style={{ marginTop: '0.625rem' }}>
        <AuthFields
          draft={wish.auth}
          label="It knows who reads by"
          types={['none', 'bearer', 'api-key', 'basic', 'oauth-client']}
          change={(auth) => change({ auth, scheme: auth.type === 'none' ? '' : 'other', base: wish.base || origin })}
        />
        {wish.auth.type !== 'none' && (
          <TextInput
            label="Where the API is called"
            description="Credentials go to this origin alone; the document has to be there too."
            value={wish.base}
            onChange={(e) => change({ base: e.currentTarget.value.trim() })}
          />
        )}
      </div>
    </details>
  );
}

function bodyOf(given: Given, wish: Wish, preview: APIPreview | null): Body | undefined {
  const document = documentOf(given, wish.base);
  if (!document) return undefined;
  const b: Body = { id: wish.id || suggest(given, preview), mode: 'auto-generated', ...document };
  if (wish.base) b.base_url = wish.base;
  const perUser = wish.perUser && wish.scheme !== '';
  if (wish.auth.type !== 'none' && (wish.auth.secret || !perUser || wish.auth.type === 'oauth')) b.auth = authOf(wish.auth);
  if (perUser) b.credentials = 'per-user';
  if (wish.isPrivate) b.private = true;
  if (wish.show === 'all' || wish.show === 'search') b.exposure = wish.show;
  const rules = rulesOf(wish.rules);
  if (rules.length > 0) b.include = rules;
  if (wish.mutations) b.mutations = wish.mutations as NonNullable<Body['mutations']>;
  return b;
}

// suggest makes an id: of the API's title where it has one, else of its address.
function suggest(given: Given, preview: APIPreview | null): string {
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
  wish,
  change,
  given,
  added,
}: {
  reading: Reading;
  preview: APIPreview;
  body: Body | undefined;
  current: boolean;
  look: () => Promise<void>;
  wish: Wish;
  change: (part: Partial<Wish>) => void;
  given: Given;
  added: () => void;
}) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const name = body?.id ?? '';
  const named = /^[a-z][a-z0-9-]{0,31}$/.test(name);
  const missing = wants(wish);
  const errors = preview.problems.filter((p) => p.severity === 'error').length;
  const based = wish.base || preview.base_url;
  const ready = named && current && !missing && !!based && toolCount(preview) > 0 && !adding;
  const add = async () => {
    setAdding(true);
    setError(null);
    try {
      await send('POST', '/servers', { ...body, document: reading.text });
      added();
      await Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
      navigate(`/servers/${name}${wish.auth.type === 'oauth' ? '?tab=sign-in' : ''}`);
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
              ? `${count(preview.partial)} can be called all the same`
              : preview.excluded > 0
                ? `${count(preview.excluded)} left out`
                : 'with a reason each'
          }
          bad={preview.incomplete > 0}
        />
        <Figure name="Tokens" value={short(preview.tokens)} note="in a model’s list, all of them" />
        <Figure name="Data models" value={count(preview.models.length)} note={`${counted(preview.auth.length, 'way')} to authenticate`} />
        <Figure name="Problems" value={count(preview.problems.length)} note={counted(errors, 'error')} />
      </div>
      <Panel title="The server" pad>
        <form
          className="stack"
          onSubmit={(e) => {
            e.preventDefault();
            if (ready) void add();
          }}
        >
          <div className="columns">
            <div className="stack">
              <Base preview={preview} wish={wish} change={change} />
              <KnownBy preview={preview} wish={wish} change={change} />
            </div>
            <div className="stack">
              <Exposure preview={preview} wish={wish} change={change} />
              <TextInput
                label="Id"
                description="Its tools are shown as id__name."
                placeholder={name}
                value={wish.id}
                error={name && !named ? 'A lower-case letter, then up to 31 lower-case letters, digits or hyphens.' : undefined}
                onChange={(e) => change({ id: e.currentTarget.value })}
              />
              <Checkbox label="Only I see it" checked={wish.isPrivate} onChange={(e) => change({ isPrivate: e.currentTarget.checked })} />
            </div>
          </div>
          <div className="acts">
            {!current && (
              <Button variant="default" loading={reading.busy} onClick={() => void look()}>
                Look again
              </Button>
            )}
            <Button type="submit" disabled={!ready} loading={adding}>
              Add {name || 'it'}
            </Button>
            <span className="small soft">
              {missing ||
                (!current
                  ? 'Something was changed: look again at what comes of it.'
                  : toolCount(preview) === 0
                    ? 'No operation can be called.'
                    : '')}
              {given.from === 'url' && current && !missing ? 'It is added as it was read just now.' : ''}
            </span>
          </div>
          {error !== null && <ErrorCard error={error} />}
        </form>
      </Panel>
      <Look preview={preview} text={reading.text} />
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

// Look is all that a document comes to, part by part.
export function Look({ preview, text }: { preview: APIPreview; text: string }) {
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
        label="What comes of it"
        now={part}
        choose={setPart}
        tabs={[
          ['tools', `Tools ${toolCount(preview)}`],
          ['problems', `Problems ${preview.problems.length} and text`],
          ['models', `Data models ${preview.models.length}`],
          ['auth', `Authentication ${preview.auth.length}`],
        ]}
      />
      {part === 'tools' && <Endpoints preview={preview} show={show} />}
      {part === 'problems' && <Problems problems={preview.problems} text={text} file={preview.file} spot={spot} show={setSpot} />}
      {part === 'models' && <Models models={preview.models} show={show} />}
      {part === 'auth' && <Schemes auth={preview.auth} all={preview.endpoints.length} />}
    </>
  );
}
