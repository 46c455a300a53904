import { Link } from 'wouter';
import type { ChainEvent } from '../../api/chains';
import { agentPage, eventStates, numberOf, shortHex } from '../../parts/chain';
import { Ago, Scroll, Tag } from '../../parts/elements';
import { count } from '../../parts/format';

// ChainEvents are what registries said, newest first.
export function ChainEvents({ events, agents = true }: { events: readonly ChainEvent[]; agents?: boolean }) {
  return (
    <Scroll label="Registry events">
      <table className="list">
        <thead>
          <tr>
            <th>Event</th>
            {agents && <th>Agent</th>}
            <th>State</th>
            <th className="right wide">Block</th>
            <th className="wide">Transaction</th>
            <th className="right">Seen</th>
          </tr>
        </thead>
        <tbody>
          {events.map((e) => {
            const s = eventStates[e.state];
            return (
              <tr key={`${e.chain} ${e.block_hash} ${e.log_index}`}>
                <td>{e.type}</td>
                {agents && (
                  <td>
                    <Link className="link" href={agentPage(e.agent)}>
                      {numberOf(e.agent)}
                    </Link>{' '}
                    <span className="soft">on {e.chain}</span>
                  </td>
                )}
                <td>
                  <Tag tone={s.tone} title={s.about}>
                    {s.name}
                  </Tag>{' '}
                  {e.retracted > 0 && <Tag title="It was confirmed before a reorganization removed it.">retracted</Tag>}
                </td>
                <td className="right num wide">{count(e.block)}</td>
                <td className="wide mono tiny soft" title={e.transaction}>
                  {shortHex(e.transaction)}
                </td>
                <td className="right soft">
                  <Ago at={e.seen_at} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}
