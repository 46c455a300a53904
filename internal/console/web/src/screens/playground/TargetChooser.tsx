import { Button, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { Tool } from '../../api/client';
import { useOffer, useServers, useTools } from '../../api/data';
import { Panel } from '../../parts/elements';
import type { Schema } from '../../parts/schema';
import { matches } from '../../parts/search';
import { ErrorCard, Loading } from '../../parts/states';
import type { Kind, Target } from './run';

// useTargets lists what can be tried.
export function useTargets(kind: Kind, server: string) {
  const tools = useTools();
  const offer = useOffer(server || 'demo');
  const list = useMemo((): Target[] | undefined => {
    if (kind === 'tool')
      return tools.data?.map((t: Tool) => ({
        kind,
        name: t.exposed,
        server: '',
        title: t.title ?? '',
        about: t.description ?? '',
        schema: t.input_schema as Schema,
      }));
    if (!offer.data) return undefined;
    const own = server || 'demo';
    if (kind === 'prompt')
      return offer.data.prompts.map((p) => {
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
    return [...offer.data.resources, ...offer.data.templates].map((r) => {
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
  }, [kind, server, tools.data, offer.data]);
  const source = kind === 'tool' ? tools : offer;
  return { list, error: source.error, refetch: source.refetch };
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
  targets,
  name,
  choose,
  server,
  setServer,
}: {
  kind: Kind;
  targets: ReturnType<typeof useTargets>;
  name: string;
  choose: (n: string) => void;
  server: string;
  setServer: (s: string) => void;
}) {
  const servers = useServers();
  const [q, setQ] = useState('');
  const [open, setOpen] = useState(false);
  const chosen = targets.list?.find((t) => t.name === name) ?? anywhere(kind, server, name);
  const found = useMemo(() => (targets.list ?? []).filter((t) => matches(q, t.name, t.title, t.about)).slice(0, 60), [targets.list, q]);
  const showList = open || !chosen;
  if (targets.error) return <ErrorCard error={targets.error} retry={() => targets.refetch()} />;
  return (
    <Panel>
      {kind !== 'tool' && (
        <div className="pad row" style={{ paddingBottom: 0 }}>
          <span className="small soft">Server</span>
          {servers.data?.map((s) => (
            <Button
              key={s.id}
              size="compact-sm"
              variant={(server || 'demo') === s.id ? 'light' : 'subtle'}
              color={(server || 'demo') === s.id ? undefined : 'gray'}
              onClick={() => {
                setServer(s.id);
                choose('');
              }}
            >
              {s.id}
            </Button>
          ))}
        </div>
      )}
      {showList ? (
        <>
          <div className="pad" style={{ paddingBottom: '0.5rem' }}>
            <TextInput
              placeholder={`Find a ${kind}`}
              aria-label={`Find a ${kind}`}
              value={q}
              onChange={(e) => setQ(e.currentTarget.value)}
              onKeyDown={(e) => {
                const first = found[0]?.name ?? (kind === 'resource' && address.test(q) ? q : '');
                if (e.key === 'Enter' && first) {
                  choose(first);
                  setOpen(false);
                }
              }}
            />
          </div>
          {!targets.list ? (
            <Loading />
          ) : (
            <div className="palette-list" role="listbox" aria-label={`${kind}s`} style={{ maxHeight: '20rem' }}>
              {found.map((t) => (
                <button
                  key={t.name}
                  type="button"
                  aria-selected={t.name === name}
                  role="option"
                  onClick={() => {
                    choose(t.name);
                    setOpen(false);
                  }}
                >
                  <span className="mono cut" style={{ flex: 'none', maxWidth: '55%' }}>
                    {t.name}
                  </span>
                  <span className="cut soft small grow">{t.about || t.title}</span>
                </button>
              ))}
              {found.length === 0 && kind === 'resource' && address.test(q) && (
                <button type="button" role="option" aria-selected={false} onClick={() => choose(q)}>
                  <span className="mono cut">{q}</span>
                  <span className="soft small">Read this URI</span>
                </button>
              )}
              {found.length === 0 && <p className="soft pad">{q ? 'Nothing matches.' : 'Nothing to choose.'}</p>}
            </div>
          )}
        </>
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
