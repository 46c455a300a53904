import { Button } from '@mantine/core';
import { Link as LinkIcon } from 'lucide-react';
import { Link } from 'wouter';
import { type Chain, useChainEvents, useChains } from '../api/chains';
import { shortHex } from '../parts/chain';
import { Ago, Head, Panel, Tabs, Tag } from '../parts/elements';
import { count } from '../parts/format';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { ChainEvents } from './chains/ChainEvents';

const example = `chains:
  base:
    id: 8453
    rpc: https://base.example/rpc
    registries:
      - identity: "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"`;

export default function Chains() {
  const chains = useChains();
  const [state, setState] = useParam('state');
  const events = useChainEvents({ state });
  return (
    <>
      <Head title="Chains" sub="Agent registries that Junctor follows. Their entries become events after enough confirmations.">
        {chains.data && chains.data.length > 0 && (
          <Button component={Link} href="/chain-agents" variant="default">
            Discovered agents
          </Button>
        )}
      </Head>
      <QueryContent query={chains}>
        {(all) =>
          all.length === 0 ? (
            <Panel>
              <Empty icon={<LinkIcon size={28} strokeWidth={1.5} aria-hidden />} title="No chains yet">
                Add chains in the settings file, because contract events start deliveries. Then restart Junctor:
              </Empty>
              <div className="pad code">
                <pre>{example}</pre>
              </div>
            </Panel>
          ) : (
            <>
              {all.map((c) => (
                <OneChain key={c.name} c={c} />
              ))}
              <Tabs
                label="Registry events"
                now={state}
                choose={setState}
                tabs={[
                  ['', 'All events'],
                  ['seen', 'Seen'],
                  ['counted', 'Confirmed'],
                  ['orphaned', 'Orphaned'],
                ]}
              />
              <Panel>
                <QueryContent query={events}>
                  {(list) =>
                    list.length === 0 ? (
                      <Empty title="No events">{state ? 'No event is in this state.' : 'The registries have no events yet.'}</Empty>
                    ) : (
                      <ChainEvents events={list} />
                    )
                  }
                </QueryContent>
              </Panel>
            </>
          )
        }
      </QueryContent>
    </>
  );
}

function OneChain({ c }: { c: Chain }) {
  return (
    <Panel
      title={
        <span className="row">
          {c.name}{' '}
          <Tag tone={c.error ? 'bad' : c.lag > 0 ? 'act' : 'good'}>
            {c.error ? 'unreachable' : c.lag > 0 ? 'catching up' : 'up to date'}
          </Tag>
        </span>
      }
      acts={<span className="small soft mono">eip155:{c.id}</span>}
      pad
    >
      <div className="stack">
        {c.error && (
          <section className="fault" role="alert">
            <h3>The chain is unreachable</h3>
            <p className="wrap">{c.error}</p>
            <p className="small soft">Junctor retries automatically, with the next node if several are configured.</p>
          </section>
        )}
        <div className="figures" style={{ margin: 0 }}>
          <Figure name="Head" value={count(c.head)} note="newest block" />
          <Figure name="Read" value={count(c.read)} note={c.lag > 0 ? `${count(c.lag)} behind` : 'no missing blocks'} />
          <Figure
            name="Confirmed up to"
            value={count(c.final)}
            note={c.finalized ? 'finalized blocks' : `${count(c.confirmations)} confirmations`}
          />
          <Figure
            name="Reorganizations"
            value={count(c.reorgs)}
            note={c.deepest_reorg > 0 ? `${count(c.deepest_reorg)} deep at most` : 'since the start'}
          />
        </div>
        <dl className="facts">
          <dt>Node</dt>
          <dd>
            <code className="wrap">{c.node}</code>{' '}
            <span className="soft">
              answered <Ago at={c.seen_at} />
            </span>
          </dd>
          {c.registries.map((r) => (
            <Registry key={r.identity} r={r} />
          ))}
          {c.skipped_logs > 0 && (
            <>
              <dt>Skipped</dt>
              <dd>{count(c.skipped_logs)} registry logs that could not be decoded</dd>
            </>
          )}
          {Object.entries(c.servers ?? {}).map(([agent, server]) => (
            <div key={agent} style={{ display: 'contents' }}>
              <dt>Agent {agent}</dt>
              <dd>
                delivers to the server{' '}
                <Link className="link" href={`/servers/${server}`}>
                  {server}
                </Link>
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Panel>
  );
}

function Registry({ r }: { r: Chain['registries'][number] }) {
  const parts = [
    ['identity', r.identity],
    ['reputation', r.reputation],
    ['validation', r.validation],
  ].filter(([, at]) => at) as [string, string][];
  return (
    <>
      <dt>Registry</dt>
      <dd className="row" style={{ flexWrap: 'wrap' }}>
        {parts.map(([name, at]) => (
          <span key={name}>
            <span className="soft">{name}</span> <code title={at}>{shortHex(at)}</code>
          </span>
        ))}
      </dd>
    </>
  );
}

const Figure = ({ name, value, note }: { name: string; value: string; note: string }) => (
  <div className="figure">
    <div className="name">{name}</div>
    <div className="value">{value}</div>
    <div className="note">{note}</div>
  </div>
);
