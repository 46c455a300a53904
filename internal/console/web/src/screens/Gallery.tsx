import { Button } from '@mantine/core';
import { FileText, Globe, KeyRound, LogIn, TerminalSquare } from 'lucide-react';
import { Link } from 'wouter';
import type { Schemas } from '../api/client';
import { useMe, usePacks } from '../api/data';
import { can } from '../app/permissions';
import { Head, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { matches } from '../parts/search';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { useRunsCommands } from './server/CommandsOff';

type Pack = Schemas['PackPlan'];

export const isCommand = (p: Pack) => p.servers.some((s) => s.command && s.command.length > 0);
export const wantsLogin = (p: Pack) => p.servers.some((s) => s.auth === 'oauth');

export default function Gallery() {
  const me = useMe().data;
  const packs = usePacks();
  const runs = useRunsCommands();
  const [q, setQ] = useParam('q');
  const [tag, setTag] = useParam('tag');
  return (
    <>
      <Head title="Gallery" sub="Ready-made servers. Each asks only for the settings it needs.">
        {can(me, 'servers:write') && (
          <Button component={Link} href="/gallery/file" variant="default" leftSection={<FileText size={14} />}>
            From a file
          </Button>
        )}
      </Head>
      <QueryContent query={packs} rows={8}>
        {(all) => {
          const every = all.flatMap((p) => p.tags ?? []);
          const tags = [...new Set(every)].filter((t) => t === tag || every.indexOf(t) !== every.lastIndexOf(t)).sort();
          const found = all.filter((p) => (!tag || p.tags?.includes(tag)) && matches(q, p.id, p.title, p.summary, ...(p.tags ?? [])));
          return (
            <div className="stack">
              <FilterInput label="Search the gallery" placeholder="Files, issues, search, documentation…" value={q} change={setQ} />
              {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would draw a frame */}
              <div className="kinds" role="group" aria-label="Kinds">
                {tags.map((t) => (
                  <Button
                    key={t}
                    size="compact-xs"
                    fw={500}
                    variant={t === tag ? 'filled' : 'default'}
                    aria-pressed={t === tag}
                    onClick={() => setTag(t === tag ? '' : t)}
                  >
                    {t}
                  </Button>
                ))}
              </div>
              {found.length === 0 ? (
                <Empty title="No pack matches">Try other words, or add a server by its URL, by its command or from a file.</Empty>
              ) : (
                <ul className="cards" aria-label="Packs">
                  {found.map((p) => (
                    <li key={p.id}>
                      <Card p={p} runs={runs} />
                    </li>
                  ))}
                </ul>
              )}
            </div>
          );
        }}
      </QueryContent>
    </>
  );
}

function Card({ p, runs }: { p: Pack; runs: boolean }) {
  const secret = p.questions?.some((x) => x.secret && !x.optional);
  return (
    <Link href={`/gallery/${p.id}`} className="card">
      <span className="row">
        {isCommand(p) ? <TerminalSquare size={15} aria-hidden /> : <Globe size={15} aria-hidden />}
        <h2 className="grow">{p.title}</h2>
        {p.servers.some((s) => s.taken) ? <Tag tone="good">added</Tag> : !runs && isCommand(p) && <Tag>command line</Tag>}
      </span>
      <span className="small soft">{p.summary}</span>
      <span className="row tiny soft">
        <span>{isCommand(p) ? 'runs on this machine' : 'hosted by its vendor'}</span>
        {wantsLogin(p) && (
          <span className="row plain" style={{ gap: '0.25rem' }}>
            <LogIn size={12} aria-hidden /> sign-in
          </span>
        )}
        {secret && (
          <span className="row plain" style={{ gap: '0.25rem' }}>
            <KeyRound size={12} aria-hidden /> key
          </span>
        )}
        {isCommand(p) && p.network === 'install' && <span>downloaded once</span>}
        {isCommand(p) && p.network === 'always' && <span>needs the network</span>}
      </span>
    </Link>
  );
}
