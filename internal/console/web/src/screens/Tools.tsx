import { NativeSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link } from 'wouter';
import { useRoles, useServers, useToolChanges } from '../api/data';
import { useToolPages, useTotal } from '../api/lists';
import { Ago, Head, Panel, Tabs, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { count } from '../parts/format';
import { NextPage } from '../parts/NextPage';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { ToolRows } from './ToolRows';

export default function Tools() {
  const roles = useRoles();
  const changes = useToolChanges();
  const [tab, setTab] = useParam('tab', 'all');
  const [q, setQ] = useParam('q');
  const [server, setServer] = useParam('server');
  const [role, setRole] = useParam('role');
  const [text] = useDebouncedValue(q, 150);
  const tools = useToolPages({ q: text, server, role });
  const everything = useTotal('/tools');
  const servers = useServers();

  return (
    <>
      <Head title="Tools" sub="All tools that you can see, from all servers. Clients of /mcp see the same names." />
      <Tabs
        label="Which tools"
        now={tab}
        choose={setTab}
        tabs={[
          ['all', `All ${everything.data === undefined ? '' : count(everything.data)}`],
          ['changed', `Changed ${changes.data?.length || ''}`],
        ]}
      />
      {tab === 'changed' ? (
        <Panel>
          <QueryContent query={changes}>
            {(all) =>
              all.length === 0 ? (
                <Empty title="No tool has changed">
                  If a server changes the definition of a tool, the change is listed here with both versions.
                </Empty>
              ) : (
                <div className="rows">
                  {all.map((c) => (
                    <Link key={c.id} href={`/tools/${encodeURIComponent(`${c.server}__${c.tool}`)}?tab=changes`}>
                      <span className="mono grow cut">
                        {c.server}__{c.tool}
                      </span>
                      {c.what?.map((w) => (
                        <Tag key={w} tone="warn">
                          {w}
                        </Tag>
                      ))}
                      <span className="small soft">
                        <Ago at={c.seen_at} />
                      </span>
                    </Link>
                  ))}
                </div>
              )
            }
          </QueryContent>
        </Panel>
      ) : (
        <>
          <div className="row">
            <FilterInput label="Search tools" placeholder="Search names and descriptions" minWidth="14rem" value={q} change={setQ} />
            <NativeSelect
              aria-label="Server"
              value={server}
              onChange={(e) => setServer(e.currentTarget.value)}
              data={[{ value: '', label: 'All servers' }, ...(servers.data?.map((s) => s.id) ?? [])]}
            />
            <NativeSelect
              aria-label="Role"
              value={role}
              onChange={(e) => setRole(e.currentTarget.value)}
              data={[{ value: '', label: 'All roles' }, ...(roles.data?.map((r) => r.name) ?? [])]}
            />
            <span className="small soft num" aria-live="polite">
              {count(tools.total)} tools
            </span>
          </div>
          <Panel>
            <QueryContent query={tools} rows={8}>
              {() =>
                tools.total === 0 ? (
                  <Empty title="No tool matches">Try fewer words, or another server or role.</Empty>
                ) : (
                  <ToolRows tools={tools.all ?? []} />
                )
              }
            </QueryContent>
          </Panel>
          <NextPage pages={tools} near />
        </>
      )}
    </>
  );
}
