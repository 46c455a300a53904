import { Button, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Bot } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type ChainAgent, useChainAgents } from '../api/chains';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { agentPage, numberOf, proofs, standingOf } from '../parts/chain';
import { Ago, Head, Panel, Scroll, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { matches } from '../parts/search';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';

export default function ChainAgents() {
  const me = useMe().data;
  const agents = useChainAgents();
  const [q, setQ] = useParam('q');
  return (
    <>
      <Head
        title="Discovered agents"
        crumbs={[['Chains', '/chains']]}
        sub="Agents that followed registries announced, with their registrations. Anyone can register an agent: trust only what is marked as verified."
      />
      {can(me, 'servers:write') && <Find />}
      <Panel>
        <QueryContent query={agents}>
          {(all) => {
            const shown = all.filter((a) => matches(q, a.agent, a.name, a.endpoint, a.reason));
            if (all.length === 0)
              return (
                <Empty icon={<Bot size={28} strokeWidth={1.5} aria-hidden />} title="No agents yet">
                  Agents appear here when a followed registry announces them.
                </Empty>
              );
            return (
              <>
                {all.length > 6 && (
                  <div className="pad" style={{ paddingBottom: 0 }}>
                    <FilterInput label="Filter agents" value={q} change={setQ} />
                  </div>
                )}
                <Scroll label="Discovered agents">
                  <table className="list">
                    <thead>
                      <tr>
                        <th>Agent</th>
                        <th>State</th>
                        <th className="wide">Verified</th>
                        <th className="wide">Endpoint</th>
                        <th className="right wide">Looked up</th>
                      </tr>
                    </thead>
                    <tbody>
                      {shown.map((a) => (
                        <Row key={a.agent} a={a} />
                      ))}
                    </tbody>
                  </table>
                </Scroll>
                {shown.length === 0 && <Empty title="No agent matches">No agent contains “{q}”.</Empty>}
              </>
            );
          }}
        </QueryContent>
      </Panel>
    </>
  );
}

function Row({ a }: { a: ChainAgent }) {
  const s = standingOf(a);
  return (
    <tr>
      <td>
        <Link className="link" style={{ fontWeight: 550 }} href={agentPage(a.agent)}>
          {a.name || `agent ${numberOf(a.agent)}`}
        </Link>
        <div className="tiny soft cut">
          {numberOf(a.agent)} on {a.chain}
        </div>
      </td>
      <td>
        <Tag tone={s.tone} title={s.about}>
          {s.name}
        </Tag>
        {a.blocked.length > 0 && s.name !== 'blocked' && (
          <>
            {' '}
            <Tag tone="bad" title="The registration also names a command. Junctor never runs it.">
              command blocked
            </Tag>
          </>
        )}
      </td>
      <td className="wide">
        <Badges a={a} />
      </td>
      <td className="wide small cut">
        {a.server ? (
          <Link className="link" href={`/servers/${a.server}`}>
            {a.server}
          </Link>
        ) : (
          <span className="soft">{a.reason}</span>
        )}
        {a.endpoint && <div className="tiny soft mono cut">{a.endpoint}</div>}
      </td>
      <td className="right wide soft">{a.discovered_at ? <Ago at={a.discovered_at} /> : '–'}</td>
    </tr>
  );
}

// Badges are what was verified of a registration.
export function Badges({ a }: { a: ChainAgent }) {
  const proof = proofs[a.proof ?? ''];
  return (
    <span className="row" style={{ gap: '0.25rem', flexWrap: 'wrap' }}>
      {proof && (
        <Tag tone={proof.tone} title={proof.about}>
          {proof.name}
        </Tag>
      )}
      {a.claimed && (
        <Tag tone="good" title="The registration names this agent.">
          claims the agent
        </Tag>
      )}
      {a.domain && (
        <Tag
          tone={a.domain === 'verified' ? 'good' : 'warn'}
          title={a.domain === 'verified' ? "The endpoint's domain names the agent." : "The endpoint's domain does not name the agent."}
        >
          domain {a.domain}
        </Tag>
      )}
    </span>
  );
}

// useFind looks for an agent now.
export function useFind() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (agent: string) => send<ChainAgent>('POST', '/chains/agents/find', { agent }),
    onSettled: () => Promise.all(['chain-agents', 'servers'].map((key) => cache.invalidateQueries({ queryKey: [key] }))),
  });
}

function Find() {
  const [agent, setAgent] = useState('');
  const [, navigate] = useLocation();
  const find = useFind();
  return (
    <Panel pad>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          find.mutate(agent.trim(), { onSuccess: (found) => navigate(agentPage(found.agent)) });
        }}
      >
        <TextInput
          label="Look up an agent"
          description="Its name on a followed chain: eip155:CHAIN:REGISTRY/NUMBER"
          value={agent}
          onChange={(e) => setAgent(e.currentTarget.value)}
          rightSectionWidth="auto"
          rightSection={
            <Button type="submit" size="compact-sm" mr={6} disabled={agent.trim() === ''} loading={find.isPending}>
              Look up
            </Button>
          }
        />
        {find.error && <ErrorCard error={find.error} />}
      </form>
    </Panel>
  );
}
