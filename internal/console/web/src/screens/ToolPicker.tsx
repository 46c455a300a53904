import { Checkbox, NativeSelect, Switch } from '@mantine/core';
import { useCallback, useMemo, useState } from 'react';
import type { Tool } from '../api/client';
import { useTools } from '../api/data';
import { Scroll, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { count, short } from '../parts/format';
import { grantOf, toggle, toggleServer, wholeOf } from '../parts/grants';
import { matches } from '../parts/search';
import { Empty, QueryContent } from '../parts/states';
import { useKept } from '../parts/store';
import { Virtual } from '../parts/Virtual';

const none: Tool[] = [];

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
  const all = tools.data ?? none;
  const granted = useMemo(() => new Set(grants), [grants]);
  const isChosen = useCallback((t: Tool) => granted.has(grantOf(t)) || granted.has(wholeOf(t.server)), [granted]);
  const shown = useMemo(
    () =>
      all.filter(
        (t) =>
          matches(q, t.exposed, t.description, t.title) &&
          (!fitting || role === 'General' || t.roles.includes(role) || t.roles.includes('General') || isChosen(t)),
      ),
    [all, q, fitting, role, isChosen],
  );
  // A line of each server, and below it those of its tools.
  const lines = useMemo(() => {
    const byServer = new Map<string, Tool[]>();
    for (const t of shown) {
      const list = byServer.get(t.server);
      if (list) list.push(t);
      else byServer.set(t.server, [t]);
    }
    return [...byServer].flatMap(([server, tools]): (string | Tool)[] => [server, ...tools]);
  }, [shown]);
  const chosen = useMemo(() => all.filter(isChosen), [all, isChosen]);
  const cost = chosen.reduce((n, t) => n + t.tokens, 0);
  const [budget, setBudget] = useKept(localStorage, 'junctor-budget', 10_000);
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
          <Scroll label="Tools to choose from" className="picker" height="22rem">
            <Virtual
              count={lines.length}
              height={height}
              label="Tools"
              row={(i) => {
                const line = lines[i];
                if (!line) return null;
                if (typeof line === 'string')
                  return (
                    <ServerLine
                      key={line}
                      server={line}
                      whole={grants.includes(wholeOf(line))}
                      disabled={disabled}
                      change={() => change(toggleServer(grants, line))}
                    />
                  );
                return (
                  <ToolLine
                    key={line.exposed}
                    t={line}
                    chosen={isChosen(line)}
                    disabled={disabled}
                    change={() => change(toggle(grants, line, all))}
                  />
                );
              }}
            />
            {shown.length === 0 && <Empty title="No tool matches" />}
          </Scroll>
        )}
      </QueryContent>
    </div>
  );
}

const height = 46;

function ServerLine({ server, whole, disabled, change }: { server: string; whole: boolean; disabled: boolean; change: () => void }) {
  return (
    <li className="row plain picker-server" style={{ height }}>
      <b className="grow cut">{server}</b>
      <Checkbox
        size="xs"
        label="All (incl. future)"
        aria-label={`All (incl. future) of ${server}`}
        disabled={disabled}
        checked={whole}
        onChange={change}
      />
    </li>
  );
}

function ToolLine({ t, chosen, disabled, change }: { t: Tool; chosen: boolean; disabled: boolean; change: () => void }) {
  return (
    <li style={{ height }}>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the checkbox is inside */}
      <label className="row plain picker-tool">
        <Checkbox size="xs" aria-label={t.exposed} disabled={disabled} checked={chosen} onChange={change} />
        <span className="grow">
          <span className="mono small cut" style={{ display: 'block' }}>
            {t.name}
          </span>
          <span className="tiny soft cut" style={{ display: 'block' }}>
            {t.description}
          </span>
        </span>
        {t.roles
          .filter((r) => r !== 'General')
          .slice(0, 2)
          .map((r) => (
            <Tag key={r}>{r}</Tag>
          ))}
        <span className="tiny soft num">{count(t.tokens)}</span>
      </label>
    </li>
  );
}
