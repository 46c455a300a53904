import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { get, type Page, type Schemas } from '../../api/client';
import { Panel, Scroll, Tag } from '../../parts/bits';
import { matches } from '../../parts/search';
import { Shown } from '../../parts/states';
import { useParam } from '../../parts/url';

export function Instance() {
  const settings = useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => get<Page<Schemas['Setting']>>('/settings', signal),
    select: (p) => p.items,
  });
  const [q, setQ] = useParam('q');
  return (
    <Panel
      title="Settings of this instance"
      acts={
        <TextInput
          size="xs"
          leftSection={<Search size={13} />}
          placeholder="Filter"
          aria-label="Filter settings"
          value={q}
          onChange={(e) => setQ(e.currentTarget.value)}
        />
      }
    >
      <Shown query={settings} rows={8}>
        {(all) => (
          <Scroll label="Settings">
            <table className="list">
              <thead>
                <tr>
                  <th>Setting</th>
                  <th>Value</th>
                  <th>From</th>
                </tr>
              </thead>
              <tbody>
                {all
                  .filter((s) => matches(q, s.name, s.value))
                  .map((s) => (
                    <tr key={s.name}>
                      <td className="mono">--{s.name}</td>
                      <td className="mono cut">{s.value || <span className="soft">–</span>}</td>
                      <td>
                        <Tag tone={s.source === 'default' ? '' : 'act'}>{s.source}</Tag>
                      </td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </Shown>
      <p className="pad small soft">
        They are set by flags, by the environment or in the settings file; egress ranges and proxies are among them.
      </p>
    </Panel>
  );
}
