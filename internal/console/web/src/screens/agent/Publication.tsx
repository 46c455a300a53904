import { Switch } from '@mantine/core';
import type { Agent } from '../../api/client';
import { useMe } from '../../api/data';
import { Copy, ExternalLink, Panel } from '../../parts/elements';
import { instanceURL } from '../../parts/instanceURL';

// Publication is whether agents of other parties reach this one, and where.
export function Publication({ a, may, save, busy }: { a: Agent; may: boolean; save: (published: boolean) => void; busy: boolean }) {
  const tenant = useMe().data?.tenant ?? 'default';
  // Its name alone is that of the tenant that published one first.
  const base = `${instanceURL()}/a2a/${tenant === 'default' ? '' : `${tenant}.`}${a.name}/`;
  const card = `${base}.well-known/agent-card.json`;
  const on = a.published === true;
  return (
    <Panel pad>
      <div className="stack">
        <p className="soft">
          Remote agents discover a published agent by its card and send it tasks with the Agent2Agent protocol. The card is public. It has
          the name and the purpose of the agent. Tasks require a key with the scope tools:call.
        </p>
        <Switch
          label="Published"
          description={a.brain ? undefined : 'Choose a model or rules first. Without them, the agent cannot answer.'}
          checked={on}
          disabled={!may || busy || (!on && !a.brain)}
          onChange={(e) => save(e.currentTarget.checked)}
        />
        {on && (
          <dl className="facts">
            <dt>Agent card</dt>
            <dd className="row">
              <ExternalLink href={card}>
                <code>{card}</code>
              </ExternalLink>{' '}
              <Copy value={card} label="Copy the card URL" />
            </dd>
            <dt>URL</dt>
            <dd className="row">
              <code>{base}</code> <Copy value={base} label="Copy the URL" />
            </dd>
          </dl>
        )}
        {on && a.disabled && <p className="soft">The agent is off. It is not published until you turn it on.</p>}
      </div>
    </Panel>
  );
}
