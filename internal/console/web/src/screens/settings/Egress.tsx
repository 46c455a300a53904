import { useQuery } from '@tanstack/react-query';
import { getAll, type Schemas } from '../../api/client';
import { Panel, Tag } from '../../parts/elements';
import { QueryContent } from '../../parts/states';

export const useSettings = (enabled = true) =>
  useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => getAll<Schemas['Setting']>('/settings', signal),
    select: (p) => p.items,
    enabled,
  });

// What the instance may reach and run. These are the operator's to set, and not
// this page's: who has taken over a login must not open the network with it.
const rules = [
  {
    name: 'egress-allow',
    title: 'Private networks',
    about: 'Private networks that Junctor may connect to. Public addresses are always allowed.',
    none: 'none',
    example: '10.20.0.0/16',
  },
  {
    name: 'egress-proxy',
    title: 'Proxy',
    about: 'All outgoing connections use this proxy. Proxy variables of the environment are ignored.',
    none: 'none (direct connections)',
    example: 'http://proxy.example.com:3128',
  },
  {
    name: 'allow-commands',
    title: 'Commands through the API',
    about: 'Whether admins may add commands through this page and the API. The operator can always add them on the command line.',
    none: 'false',
    example: 'true',
  },
];

export function Egress() {
  const settings = useSettings();
  return (
    <QueryContent query={settings}>
      {(all) => (
        <div className="stack">
          {rules.map((r) => {
            const s = all.find((x) => x.name === r.name);
            return (
              <Panel key={r.name} title={r.title} acts={s && <Tag tone={s.source === 'default' ? '' : 'act'}>{s.source}</Tag>} pad>
                <div className="stack tight">
                  <p className="soft">{r.about}</p>
                  <p>
                    <code className="wrap">{s?.value || r.none}</code>
                  </p>
                  <p className="small soft wrap">
                    To change it: <code>--{r.name}</code>, <code>JUNCTOR_{r.name.replaceAll('-', '_').toUpperCase()}</code>, or in the
                    settings file{' '}
                    <code>
                      {r.name.replaceAll('-', '_')}: {r.example}
                    </code>
                  </p>
                </div>
              </Panel>
            );
          })}
          <p className="small soft">
            Changes take effect after a restart. This page cannot change them, so that a stolen login cannot open the network.
          </p>
        </div>
      )}
    </QueryContent>
  );
}
