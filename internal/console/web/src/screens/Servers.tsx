import { Button } from '@mantine/core';
import { Plus } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import type { Server } from '../api/client';
import { useMe, useServers, useTools } from '../api/data';
import { can } from '../app/permissions';
import { Ago, Head, Panel, Scroll, State, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { short, tokens } from '../parts/format';
import { matches } from '../parts/search';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';

export const modes: Record<Server['mode'], string> = {
  builtin: 'built in',
  'bring-your-own': 'upstream',
  'auto-generated': 'from an API',
  discovered: 'discovered on a chain',
};

export const reach = (s: Pick<Server, 'mode' | 'url' | 'command'>): string =>
  s.url || s.command?.join(' ') || (s.mode === 'builtin' ? 'built in' : '');

export default function Servers() {
  const me = useMe().data;
  const servers = useServers();
  const tools = useTools();
  const [q, setQ] = useParam('q');
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
          {(all) => {
            const shown = all.filter((s) => matches(q, s.id, s.title, s.discovered, reach(s)));
            if (all.length === 0)
              return (
                <Empty title="No servers yet" action={add}>
                  Add an MCP server by its URL or by the command that starts it, or import an mcp.json.
                </Empty>
              );
            return (
              <>
                {all.length > 6 && (
                  <div className="pad" style={{ paddingBottom: 0 }}>
                    <FilterInput label="Filter servers" value={q} change={setQ} />
                  </div>
                )}
                <Scroll label="Servers">
                  <table className="list">
                    <thead>
                      <tr>
                        <th>Server</th>
                        <th>State</th>
                        <th className="wide">Source</th>
                        <th className="right">Tools</th>
                        <th className="right wide">Tokens</th>
                        <th className="right wide">Changed</th>
                      </tr>
                    </thead>
                    <tbody>
                      {shown.map((s) => {
                        const own = tools.data?.filter((t) => t.server === s.id) ?? [];
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
                            <td className="right num">{own.length}</td>
                            <td className="right num wide soft">{short(own.reduce((n, t) => n + tokens(t), 0))}</td>
                            <td className="right wide soft">
                              <Ago at={s.updated_at} />
                            </td>
                          </tr>
                        );
                      })}
                    </tbody>
                  </table>
                </Scroll>
                {shown.length === 0 && <Empty title="No server matches">No server contains “{q}”.</Empty>}
              </>
            );
          }}
        </QueryContent>
      </Panel>
    </>
  );
}
