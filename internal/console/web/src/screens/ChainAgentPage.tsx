import { Button } from '@mantine/core';
import { Search, ShieldBan } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type ChainAgent, useChainAgents, useChainEvents } from '../api/chains';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { numberOf, proofs, standingOf } from '../parts/chain';
import { Ago, Copy, Head, Panel, Tag } from '../parts/elements';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { Badges, useFind } from './ChainAgents';
import { ChainEvents } from './chains/ChainEvents';

export default function ChainAgentPage() {
  const [name] = useParam('name');
  const agents = useChainAgents();
  return (
    <QueryContent query={agents}>
      {(all) => {
        const a = all.find((one) => one.agent === name);
        if (!a) return <Empty title="Agent not found">No followed registry has announced this agent, and it was not looked up.</Empty>;
        return <Page a={a} />;
      }}
    </QueryContent>
  );
}

function Page({ a }: { a: ChainAgent }) {
  const me = useMe().data;
  const find = useFind();
  const events = useChainEvents({ agent: a.agent });
  const s = standingOf(a);
  return (
    <>
      <Head
        title={a.name || `agent ${numberOf(a.agent)}`}
        crumbs={[
          ['Chains', '/chains'],
          ['Discovered agents', '/chain-agents'],
        ]}
        sub={
          <span className="row small" style={{ flexWrap: 'wrap' }}>
            <Tag tone={s.tone} title={s.about}>
              {s.name}
            </Tag>
            <code className="wrap">{a.agent}</code> <Copy value={a.agent} label="Copy the agent's name" />
          </span>
        }
      >
        <Button component={Link} href={`/deliveries?agent=${encodeURIComponent(a.agent)}`} variant="default">
          Deliveries
        </Button>
        {can(me, 'servers:write') && (
          <Button leftSection={<Search size={14} />} loading={find.isPending} onClick={() => find.mutate(a.agent)}>
            Look up now
          </Button>
        )}
      </Head>
      {find.error && <ErrorCard error={find.error} />}
      {a.discovered_at && a.reason && (
        <section className="fault" role="alert">
          <h3>Nothing is delivered to this agent</h3>
          <p className="wrap">{a.reason}</p>
        </section>
      )}
      {a.blocked.length > 0 && <Blocked a={a} />}
      <div className="columns wide-left">
        <Panel title="Registration" pad>
          <Facts a={a} />
        </Panel>
        <Panel title="Verification" pad>
          <div className="stack">
            {a.discovered_at ? <Badges a={a} /> : <p className="soft">Not verified yet: the registration was not looked up.</p>}
            {a.proof && <p className="small soft">{proofs[a.proof]?.about}</p>}
            {a.problems.length > 0 && (
              <>
                <h3 className="small">Problems</h3>
                <ul className="small wrap" style={{ margin: 0, paddingLeft: '1.125rem' }}>
                  {a.problems.map((p) => (
                    <li key={p}>{p}</li>
                  ))}
                </ul>
              </>
            )}
          </div>
        </Panel>
      </div>
      <Panel title="Registry events">
        <QueryContent query={events}>
          {(list) => (list.length === 0 ? <Empty title="No events" /> : <ChainEvents events={list} agents={false} />)}
        </QueryContent>
      </Panel>
    </>
  );
}

function Blocked({ a }: { a: ChainAgent }) {
  return (
    <Panel
      title={
        <span className="row">
          <ShieldBan size={16} aria-hidden /> Blocked commands
        </span>
      }
      pad
    >
      <div className="stack">
        <p className="small soft">
          The owner of the registration wrote this command. Junctor never runs it. To deliver to a command, add a server yourself and assign
          it to the agent under the chain in the settings file.
        </p>
        {a.blocked.map((b) => (
          <div key={b.where + b.text}>
            <div className="tiny soft">
              at <code>{b.where}</code>
            </div>
            <code className="wrap">{b.text}</code>
          </div>
        ))}
      </div>
    </Panel>
  );
}

function Facts({ a }: { a: ChainAgent }) {
  return (
    <dl className="facts">
      <Fact name="Chain">{a.chain}</Fact>
      <Fact name="Number">{numberOf(a.agent)}</Fact>
      {a.description && <Fact name="Description">{a.description}</Fact>}
      {a.uri && (
        <Fact name="File">
          <code className="wrap">{a.uri}</code>
        </Fact>
      )}
      {a.discovered_at && <Fact name="Active">{a.active ? 'yes' : 'no'}</Fact>}
      {a.endpoint && (
        <Fact name="Endpoint">
          <code className="wrap">{a.endpoint}</code>
        </Fact>
      )}
      {a.server && (
        <Fact name="Server">
          <Link className="link" href={`/servers/${a.server}`}>
            {a.server}
          </Link>
        </Fact>
      )}
      <Fact name="Looked up">{a.discovered_at ? <Ago at={a.discovered_at} /> : <span className="soft">not yet</span>}</Fact>
    </dl>
  );
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <>
    <dt>{name}</dt>
    <dd className="wrap">{children}</dd>
  </>
);
