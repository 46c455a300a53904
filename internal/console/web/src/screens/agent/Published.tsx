import { Switch } from '@mantine/core';
import type { Agent } from '../../api/client';
import { useMe } from '../../api/data';
import { Copy, Out, Panel } from '../../parts/bits';
import { home } from '../../parts/doors';

// Published is whether agents of other parties reach this one, and where.
export function Published({ a, may, save, busy }: { a: Agent; may: boolean; save: (published: boolean) => void; busy: boolean }) {
  const tenant = useMe().data?.tenant ?? 'default';
  // Its name alone is that of whoever published one first.
  const base = `${home()}/a2a/${tenant === 'default' ? '' : `${tenant}.`}${a.name}/`;
  const card = `${base}.well-known/agent-card.json`;
  const on = a.published === true;
  return (
    <Panel pad>
      <div className="stack">
        <p className="soft">
          Agents of other parties find a published agent by its card, and give it tasks by the Agent2Agent protocol. The card is for
          everybody: it has the agent’s name and what it is for. Tasks want a key that may call tools.
        </p>
        <Switch
          label="Published"
          description={a.brain ? undefined : 'It needs a brain first: without one it could not answer.'}
          checked={on}
          disabled={!may || busy || (!on && !a.brain)}
          onChange={(e) => save(e.currentTarget.checked)}
        />
        {on && (
          <dl className="facts">
            <dt>Its card</dt>
            <dd className="row">
              <Out href={card}>
                <code>{card}</code>
              </Out>{' '}
              <Copy value={card} label="Copy the card’s address" />
            </dd>
            <dt>Its address</dt>
            <dd className="row">
              <code>{base}</code> <Copy value={base} label="Copy its address" />
            </dd>
          </dl>
        )}
        {on && a.disabled && <p className="soft">It is off: nobody finds it until it is on again.</p>}
      </div>
    </Panel>
  );
}
