import { Link, useLocation } from 'wouter';
import { type Delivery, useEndpoints } from '../../api/events';
import { standing } from '../../parts/deliveries';
import { Ago, Scroll, Tag } from '../../parts/elements';

// DeliveryRows lists deliveries. within says what they all share, and need not be
// repeated.
export function DeliveryRows({ list, within = '' }: { list: Delivery[]; within?: '' | 'event' }) {
  const [, navigate] = useLocation();
  const endpoints = useEndpoints();
  return (
    <Scroll label="Deliveries">
      <table className="list">
        <thead>
          <tr>
            <th>State</th>
            <th>Tool</th>
            {within === '' && <th className="wide">Event</th>}
            <th>Agent</th>
            <th className="wide">Trigger</th>
            <th className="wide">Last error</th>
            <th className="right">Attempts</th>
            <th className="right wide">Created</th>
          </tr>
        </thead>
        <tbody>
          {list.map((d) => {
            const s = standing(
              d,
              endpoints.data?.find((e) => e.lane === d.endpoint),
            );
            return (
              <tr key={d.id} className="on" onClick={() => navigate(`/deliveries/${d.id}`)}>
                <td>
                  <Tag tone={s.tone} title={s.about}>
                    {s.name}
                  </Tag>
                </td>
                <td className="cut">
                  <Link
                    href={`/deliveries/${d.id}`}
                    className="mono"
                    style={{ fontWeight: 550 }}
                    title={d.endpoint}
                    onClick={(e) => e.stopPropagation()}
                  >
                    {d.tool}
                  </Link>
                </td>
                {within === '' && <td className="wide cut">{d.event_type || <span className="soft">–</span>}</td>}
                <td className="cut">{d.agent || <span className="soft">–</span>}</td>
                <td className="wide cut">{d.trigger || <span className="soft">–</span>}</td>
                <td className="wide tiny soft cut" title={d.error}>
                  {d.error}
                </td>
                <td className="right num">{d.attempts}</td>
                <td className="right wide soft">
                  <Ago at={d.created_at} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}
