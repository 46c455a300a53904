import { Link, useLocation } from 'wouter';
import { useAttention } from '../api/attention';
import type { Me } from '../api/client';
import { useTotal } from '../api/lists';
import { attentionAt, grouped, placeOf, places } from './navigation';
import { can } from './permissions';

// ScreenMenu is the menu: places of a group stand together under its name.
export function ScreenMenu({ me }: { me: Me }) {
  const [location] = useLocation();
  const audits = can(me, 'audit:read');
  const servers = useTotal('/servers', {}, can(me, 'tools:read'));
  const tools = useTotal('/tools');
  const attention = useAttention();
  const chains = useTotal('/chains', {}, audits, 60_000);
  const counts: Record<string, number | undefined> = { '/servers': servers.data, '/tools': tools.data };
  const waiting: Record<string, number> = {};
  for (const [kind, n] of Object.entries(attention.kinds)) {
    const at = attentionAt[kind as keyof typeof attentionAt];
    waiting[at] = (waiting[at] ?? 0) + n;
  }
  const urgent = new Set(attention.items.filter((i) => i.severity === 'critical').map((i) => attentionAt[i.kind]));
  const shown = placeOf(location);
  const here = shown?.within ?? shown?.path;
  const list = places.filter((p) => !p.aside && (!p.needs || can(me, p.needs)) && (!p.chains || (chains.data ?? 0) > 0));
  return (
    <nav className="menu" aria-label="Screens">
      {grouped(list).map(([group, list]) => (
        <div key={`${group} ${list[0]?.path}`} className="menu-group">
          {group && <span className="group-name">{group}</span>}
          {list.map((p) => (
            <Link key={p.path} href={p.path} className="menu-item" aria-current={here === p.path ? 'page' : undefined}>
              <p.icon size={15} strokeWidth={1.75} aria-hidden />
              <span className="cut">{p.name}</span>
              {p.path === '/attention' && attention.total > 0 ? (
                <span className={`badge ${attention.tone}`}>{attention.total}</span>
              ) : waiting[p.path] ? (
                <span
                  className={`badge ${urgent.has(p.path) ? 'bad' : 'warn'}`}
                  role="img"
                  aria-label={`${waiting[p.path]} need attention`}
                  title={`${waiting[p.path]} need attention`}
                >
                  {waiting[p.path]}
                </span>
              ) : (
                counts[p.path] !== undefined && <span className="count">{counts[p.path]?.toLocaleString('en')}</span>
              )}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  );
}
