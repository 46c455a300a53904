import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Plus } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import type { Server } from '../api/client';
import { useMe } from '../api/data';
import { useServerPages, useTotal } from '../api/lists';
import { can } from '../app/permissions';
import { Ago, Head, Panel, Scroll, State, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { short } from '../parts/format';
import { NextPage } from '../parts/NextPage';
import { SortedHeading } from '../parts/SortedHeading';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';

export const modes: Record<Server['mode'], string> = {
  builtin: 'Built-in',
  'bring-your-own': 'Upstream',
  'auto-generated': 'API',
  discovered: 'Discovered',
};

export const reach = (s: Pick<Server, 'mode' | 'url' | 'command'>): string =>
  s.url || s.command?.join(' ') || (s.mode === 'builtin' ? modes.builtin : '');

export default function Servers() {
  const me = useMe().data;
  const [q, setQ] = useParam('q');
  const [sort, setSort] = useParam('sort');
  const [text] = useDebouncedValue(q, 150);
  const servers = useServerPages({ q: text, sort });
  const everything = useTotal('/servers');
  const [, navigate] = useLocation();
  const add = can(me, 'servers:write') && (
    <span className="acts">
      <Button component={Link} href="/gallery" variant="default">
        From the gallery
      </Button>
      <Button component={Link} href="/servers/add" leftSection={<Plus size={15} />}>
        Add a server
      </Button>
    </span>
  );
  return (
    <>
      <Head title="Servers" sub="Where tools, resources and prompts come from.">
        {add}
      </Head>
      <Panel>
        <QueryContent query={servers}>
          {() => {
            const shown = servers.all ?? [];
            if (shown.length === 0 && !text)
              return (
                <Empty title="No servers yet" action={add}>
                  Add an MCP server by its URL or by the command that starts it, or import an mcp.json.
                </Empty>
              );
            return (
              <>
                {((everything.data ?? 0) > 6 || q) && (
                  <div className="pad" style={{ paddingBottom: 0 }}>
                    <FilterInput label="Filter servers" value={q} change={setQ} />
                  </div>
                )}
                <Scroll label="Servers">
                  <table className="list">
                    <thead>
                      <tr>
                        <SortedHeading name="Server" by="id" first sort={sort} setSort={setSort} />
                        <SortedHeading name="State" by="state" sort={sort} setSort={setSort} />
                        <SortedHeading name="Source" by="mode" className="wide" sort={sort} setSort={setSort} />
                        <SortedHeading name="Tools" by="tools" className="right" sort={sort} setSort={setSort} />
                        <SortedHeading name="Tokens" by="tokens" className="right wide" sort={sort} setSort={setSort} />
                        <SortedHeading name="Changed" by="updated_at" className="right wide" sort={sort} setSort={setSort} />
                      </tr>
                    </thead>
                    <tbody>
                      {shown.map((s) => {
                        return (
                          <tr key={s.id} className="on" onClick={() => navigate(`/servers/${s.id}`)}>
                            <td>
                              <Link href={`/servers/${s.id}`} style={{ fontWeight: 550 }} onClick={(e) => e.stopPropagation()}>
                                {s.title || s.id}
                              </Link>{' '}
                              {s.private && <Tag>private</Tag>} {s.declared && <Tag title={`Declared in ${s.declared}`}>file</Tag>}{' '}
                              {s.discovered && <Tag title={`Discovered for ${s.discovered}`}>chain</Tag>}
                              <div className="tiny soft mono cut">{reach(s)}</div>
                            </td>
                            <td>
                              <State state={s.state} />
                              {s.last_error && s.state === 'error' && <div className="tiny soft cut">{s.last_error}</div>}
                            </td>
                            <td className="wide soft">
                              {modes[s.mode]}
                              {s.transport && ` · ${s.transport}`}
                            </td>
                            <td className="right num">{s.tools}</td>
                            <td className="right num wide soft">{short(s.tokens)}</td>
                            <td className="right wide soft">
                              <Ago at={s.updated_at} />
                            </td>
                          </tr>
                        );
                      })}
                    </tbody>
                  </table>
                </Scroll>
                {shown.length === 0 && <Empty title="No server matches">No server contains “{text}”.</Empty>}
              </>
            );
          }}
        </QueryContent>
      </Panel>
      <NextPage pages={servers} near />
    </>
  );
}
