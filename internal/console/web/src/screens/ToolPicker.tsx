import { Checkbox, NativeSelect, Switch } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useTools } from '../api/data';
import { Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { count, short, tokens } from '../parts/format';
import { has, toggle, toggleServer, wholeOf } from '../parts/grants';
import { matches } from '../parts/search';
import { Empty, QueryContent } from '../parts/states';
import { useKept } from '../parts/store';

const most = 300;

// What people leave for tools in what a model is told.
const budgets = [2_000, 5_000, 10_000, 20_000, 50_000];

// ToolPicker chooses what an agent may use: tools of its role first, servers as a
// whole, and what it all costs a model.
export function ToolPicker({
  role,
  grants,
  change,
  disabled = false,
}: {
  role: string;
  grants: string[];
  change: (g: string[]) => void;
  disabled?: boolean;
}) {
  const tools = useTools();
  const [q, setQ] = useState('');
  const [fitting, setFitting] = useState(true);
  const all = tools.data ?? [];
  const shown = useMemo(
    () =>
      all.filter(
        (t) =>
          matches(q, t.exposed, t.description, t.title) &&
          (!fitting || role === 'General' || t.roles.includes(role) || t.roles.includes('General') || has(grants, t)),
      ),
    [all, q, fitting, role, grants],
  );
  const chosen = all.filter((t) => has(grants, t));
  const cost = chosen.reduce((n, t) => n + tokens(t), 0);
  const [budget, setBudget] = useKept(localStorage, 'junctor-budget', 10_000);
  const servers = [...new Set(shown.map((t) => t.server))];
  return (
    <div className="panel">
      <div className="pad row" style={{ paddingBottom: '0.5rem' }}>
        <FilterInput label="Find tools" minWidth="12rem" value={q} change={setQ} />
        <Switch label="Suggested for its role" checked={fitting} onChange={(e) => setFitting(e.currentTarget.checked)} />
      </div>
      <div className="row pad" style={{ paddingBlock: '0 0.625rem' }}>
        <span className="small num" aria-live="polite" style={cost > budget ? { color: 'var(--bad)' } : {}}>
          {count(chosen.length)} selected · about {count(cost)} of
        </span>
        <NativeSelect
          size="xs"
          aria-label="Token budget"
          value={budget}
          data={budgets.map((b) => ({ value: String(b), label: `${short(b)} tokens` }))}
          onChange={(e) => setBudget(Number(e.currentTarget.value))}
        />
        <span className={`meter grow ${cost > budget ? 'over' : ''}`} style={{ flex: 1, minWidth: '4rem' }} aria-hidden>
          <i style={{ width: `${Math.min(100, (cost / budget) * 100)}%` }} />
        </span>
        {cost > budget && <span className="small soft">Models choose badly among so many tools.</span>}
      </div>
      <QueryContent query={tools}>
        {() => (
          <div style={{ maxHeight: '22rem', overflowY: 'auto' }}>
            {servers.map((server) => (
              <div key={server}>
                <div className="row pad" style={{ padding: '0.5rem 1rem', background: 'var(--sunken)' }}>
                  <b className="grow">{server}</b>
                  <Checkbox
                    size="xs"
                    label="All (incl. future)"
                    disabled={disabled}
                    checked={grants.includes(wholeOf(server))}
                    onChange={() => change(toggleServer(grants, server))}
                  />
                </div>
                <div className="rows">
                  {shown
                    .filter((t) => t.server === server)
                    .slice(0, most)
                    .map((t) => (
                      // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox is inside
                      <label key={t.exposed} style={{ cursor: 'pointer' }}>
                        <Checkbox
                          size="xs"
                          aria-label={t.exposed}
                          disabled={disabled}
                          checked={has(grants, t)}
                          onChange={() => change(toggle(grants, t, all))}
                        />
                        <span className="grow">
                          <span className="mono small">{t.name}</span>
                          <span className="tiny soft cut" style={{ display: 'block' }}>
                            {t.description}
                          </span>
                        </span>
                        {t.roles
                          .filter((r) => r !== 'General')
                          .map((r) => (
                            <Tag key={r}>{r}</Tag>
                          ))}
                        <span className="tiny soft num">{count(tokens(t))}</span>
                      </label>
                    ))}
                </div>
              </div>
            ))}
            {shown.length === 0 && <Empty title="No tool matches" />}
          </div>
        )}
      </QueryContent>
    </div>
  );
}
