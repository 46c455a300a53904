import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { Schemas, Tool } from '../../api/client';
import { useOffer, useServers, useTool } from '../../api/data';
import { useFirst } from '../../api/lists';
import { Panel } from '../../parts/elements';
import { count } from '../../parts/format';
import type { Schema } from '../../parts/schema';
import { matches } from '../../parts/search';
import { ErrorCard, Loading } from '../../parts/states';
import type { Kind, Target } from './run';

const most = 60; // targets in the list; the search finds the others

// useTarget reads what was chosen to be tried: a tool by itself, a resource or prompt with
// the offer of its server.
export function useTarget(kind: Kind, server: string, name: string) {
  const tool = useTool(kind === 'tool' ? name : '');
  const offer = useOffer(server || 'demo', kind !== 'tool' && name !== '');
  const target = useMemo((): Target | undefined => {
    if (kind === 'tool') return tool.data && toolTarget(tool.data);
    const listed = offer.data && offered(kind, offer.data, server || 'demo').find((t) => t.name === name);
    return listed ?? anywhere(kind, server, name);
  }, [kind, server, name, tool.data, offer.data]);
  const source = kind === 'tool' ? tool : offer;
  return { target, error: source.error, refetch: source.refetch };
}

const toolTarget = (t: Tool): Target => ({
  kind: 'tool',
  name: t.exposed,
  server: '',
  title: t.title ?? '',
  about: t.description ?? '',
  schema: (t.input_schema ?? { type: 'object' }) as Schema,
  app: t.app?.startsWith('ui:') ?? false,
});

// offered are the resources or prompts of a server.
function offered(kind: Kind, offer: Schemas['Offer'], own: string): Target[] {
  if (kind === 'prompt')
    return offer.prompts.map((p) => {
      const args = (Array.isArray(p.arguments) ? p.arguments : []) as { name: string; description?: string; required?: boolean }[];
      return {
        kind,
        name: String(p.name),
        server: own,
        title: String(p.title ?? ''),
        about: String(p.description ?? ''),
        schema: {
          type: 'object',
          properties: Object.fromEntries(args.map((a) => [a.name, { type: 'string', description: a.description }])),
          required: args.filter((a) => a.required).map((a) => a.name),
        },
      };
    });
  return [...offer.resources, ...offer.templates].map((r) => {
    const uri = String(r.uri ?? r.uriTemplate ?? '');
    const holes = r.uri ? [] : [...uri.matchAll(/\{([^}]+)\}/g)].map((m) => (m[1] ?? '').replace(/^[+#./;?&]/, ''));
    return {
      kind,
      name: uri,
      server: own,
      title: String(r.title ?? r.name ?? ''),
      about: String(r.description ?? ''),
      schema: {
        type: 'object',
        properties: Object.fromEntries(holes.map((h) => [h, { type: 'string' }])),
        required: holes,
        additionalProperties: false,
      },
    };
  });
}

const address = /^[a-z][a-z0-9+.-]*:\S+$/i;

// anywhere is a resource that no list names: a user who knows its address may try.
export function anywhere(kind: Kind, server: string, name: string): Target | undefined {
  if (kind !== 'resource' || !address.test(name)) return undefined;
  const schema: Schema = { type: 'object', properties: {}, additionalProperties: false };
  const exposed = /^[a-z][a-z0-9-]{0,31}\+[a-z]/.test(name) && !server;
  return { kind, name, server: exposed ? '' : server || 'demo', title: '', about: 'A URI that is not listed.', schema };
}

// TargetChooser finds something to try.
export function TargetChooser({
  kind,
  chosen,
  choose,
  server,
  setServer,
}: {
  kind: Kind;
  chosen: Target | undefined;
  choose: (n: string) => void;
  server: string;
  setServer: (s: string) => void;
}) {
  const servers = useServers();
  const [open, setOpen] = useState(false);
  const take = (name: string) => {
    choose(name);
    setOpen(false);
  };
  return (
    <Panel>
      {kind !== 'tool' && (
        <div className="pad" style={{ paddingBottom: 0 }}>
          <NativeSelect
            label="Server"
            value={server || 'demo'}
            data={servers.data?.map((s) => s.id) ?? [server || 'demo']}
            onChange={(e) => {
              setServer(e.currentTarget.value);
              choose('');
            }}
          />
        </div>
      )}
      {open || !chosen ? (
        <TargetList kind={kind} server={server} name={chosen?.name ?? ''} take={take} />
      ) : (
        <div className="pad row plain" style={{ alignItems: 'flex-start' }}>
          <div className="grow">
            <div className="row">
              <b className="mono cut">{chosen.name}</b>
              {kind === 'tool' && (
                <Link className="link small" href={`/tools/${encodeURIComponent(chosen.name)}`}>
                  Details
                </Link>
              )}
            </div>
            <p className="small soft wrap" style={{ maxHeight: '6rem', overflow: 'auto' }}>
              {chosen.about}
            </p>
          </div>
          <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
            Choose another
          </Button>
        </div>
      )}
    </Panel>
  );
}

interface Listed {
  name: string;
  title: string;
  about: string;
}

// TargetList shows what can be chosen. The server searches tools; the offer of one server is
// searched here.
function TargetList({ kind, server, name, take }: { kind: Kind; server: string; name: string; take: (name: string) => void }) {
  const [q, setQ] = useState('');
  const [searched] = useDebouncedValue(q, 120);
  const tools = useFirst<Tool>('/tools', { q: searched, schemas: 'false' }, most, kind === 'tool');
  const offer = useOffer(server || 'demo', kind !== 'tool');
  const all = useMemo((): Listed[] | undefined => {
    if (kind === 'tool') return tools.data?.items.map((t) => ({ name: t.exposed, title: t.title ?? '', about: t.description ?? '' }));
    return offer.data && offered(kind, offer.data, server || 'demo').filter((t) => matches(q, t.name, t.title, t.about));
  }, [kind, server, q, tools.data, offer.data]);
  const source = kind === 'tool' ? tools : offer;
  if (source.error) return <ErrorCard error={source.error} retry={() => source.refetch()} />;
  const found = all?.slice(0, most) ?? [];
  const total = (kind === 'tool' ? tools.data?.total : all?.length) ?? 0;
  const unlisted = kind === 'resource' && address.test(q) ? q : '';
  return (
    <>
      <div className="pad" style={{ paddingBottom: '0.5rem' }}>
        <TextInput
          placeholder={`Find a ${kind}`}
          aria-label={`Find a ${kind}`}
          value={q}
          onChange={(e) => setQ(e.currentTarget.value)}
          onKeyDown={(e) => {
            const first = found.find((t) => matches(q, t.name, t.title, t.about))?.name ?? unlisted;
            if (e.key === 'Enter' && first) take(first);
          }}
        />
      </div>
      {!all ? (
        <Loading />
      ) : (
        <div className="palette-list" role="listbox" aria-label={`${kind}s`} style={{ maxHeight: '20rem' }}>
          {found.map((t) => (
            <button key={t.name} type="button" aria-selected={t.name === name} role="option" onClick={() => take(t.name)}>
              <span className="mono cut" style={{ flex: 'none', maxWidth: '55%' }}>
                {t.name}
              </span>
              <span className="cut soft small grow">{t.about || t.title}</span>
            </button>
          ))}
          {found.length === 0 && unlisted && (
            <button type="button" role="option" aria-selected={false} onClick={() => take(unlisted)}>
              <span className="mono cut">{unlisted}</span>
              <span className="soft small">Read this URI</span>
            </button>
          )}
        </div>
      )}
      {all && found.length === 0 && !unlisted && <p className="soft pad">{q ? 'Nothing matches.' : 'Nothing to choose.'}</p>}
      {total > found.length && <p className="small soft pad">{count(total - found.length)} more. Search by name or description.</p>}
    </>
  );
}
