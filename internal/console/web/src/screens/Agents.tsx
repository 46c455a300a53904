import { Button, Modal, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Bot, Plus } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { type Schemas, send } from '../api/client';
import { useAgents, useMe, useRoles } from '../api/data';
import { can } from '../app/permissions';
import { Ago, Copy, Head, Panel, Scroll, Tag } from '../parts/elements';
import { faultsOf, unplaced } from '../parts/faults';
import { instanceURL } from '../parts/instanceURL';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { useFields } from '../parts/useFields';
import { ToolPicker } from './ToolPicker';

export default function Agents() {
  const me = useMe().data;
  const agents = useAgents();
  const [making, setMaking] = useParam('new');
  const [, navigate] = useLocation();
  const may = can(me, 'agents:write');
  const make = may && (
    <Button leftSection={<Plus size={15} />} onClick={() => setMaking('1')}>
      Create an agent
    </Button>
  );
  return (
    <>
      <Head title="Agents" sub="Each agent has a role, allowed tools and its own endpoint.">
        {may && (
          <Button component={Link} href="/models" variant="default">
            Models
          </Button>
        )}
        {make}
      </Head>
      <Panel>
        <QueryContent query={agents}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<Bot size={28} strokeWidth={1.5} aria-hidden />} title="No agents yet" action={make}>
                An agent sees only its allowed tools, on every endpoint. It has its own keys, limits and records.
              </Empty>
            ) : (
              <Scroll label="Agents">
                <table className="list">
                  <thead>
                    <tr>
                      <th>Agent</th>
                      <th>Role</th>
                      <th>Allowed tools</th>
                      <th className="wide">Tier</th>
                      <th className="right wide">Created</th>
                    </tr>
                  </thead>
                  <tbody>
                    {all.map((a) => (
                      <tr key={a.name} className="on" onClick={() => navigate(`/agents/${a.name}`)}>
                        <td>
                          <Link href={`/agents/${a.name}`} style={{ fontWeight: 550 }} onClick={(e) => e.stopPropagation()}>
                            {a.name}
                          </Link>{' '}
                          {a.disabled && <Tag tone="warn">off</Tag>} {a.declared && <Tag>file</Tag>}
                          <div className="tiny soft cut">{a.title}</div>
                        </td>
                        <td>
                          <Tag>{a.role}</Tag>
                        </td>
                        <td className="mono tiny cut">{a.tools.join(', ') || <span className="soft">none</span>}</td>
                        <td className="wide soft">{a.limits ? 'own limits' : a.tier || 'tier of its owner'}</td>
                        <td className="right wide soft">
                          <Ago at={a.created_at} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </QueryContent>
      </Panel>
      <Modal opened={making !== '' && may} onClose={() => setMaking('')} title="Create an agent" size="xl">
        {making !== '' && <NewAgent close={() => setMaking('')} />}
      </Modal>
    </>
  );
}

interface Fields {
  name: string;
  title: string;
  role: string;
  tools: string[];
}

const isName = (name: string) => /^[a-z][a-z0-9-]{0,31}$/.test(name);

function NewAgent({ close }: { close: () => void }) {
  const cache = useQueryClient();
  const roles = useRoles();
  const { fields: f, edit, text } = useFields<Fields>({ name: '', title: '', role: 'General', tools: [] }, () => make.reset());
  const make = useMutation({
    mutationFn: () => send<Schemas['CreatedAgent']>('POST', '/agents', { ...f, title: f.title.trim() || undefined }),
    onSuccess: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  });
  const faults = faultsOf(make.error, ['name', 'role', 'tools'], 'name');
  if (make.data) return <CreatedAgent agent={make.data} close={close} />;
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        make.mutate();
      }}
    >
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <TextInput
          className="grow"
          label="Name"
          placeholder="qa-bot"
          data-autofocus
          {...text('name')}
          error={
            f.name && !isName(f.name) ? 'Start with a lowercase letter, then up to 31 lowercase letters, digits or hyphens.' : faults.name
          }
        />
        <TextInput className="grow" label="Title" placeholder="QA engineer" maxLength={100} {...text('title')} />
        <NativeSelect label="Role" data={roles.data?.map((r) => r.name) ?? ['General']} {...text('role')} />
      </div>
      <ToolPicker role={f.role} grants={f.tools} change={(tools) => edit({ tools })} />
      {unplaced(make.error, faults) ? <ErrorCard error={make.error} /> : null}
      <div className="acts">
        <Button type="submit" disabled={!isName(f.name)} loading={make.isPending}>
          Create
        </Button>
      </div>
    </form>
  );
}

function CreatedAgent({ agent, close }: { agent: Schemas['CreatedAgent']; close: () => void }) {
  const [, navigate] = useLocation();
  const endpoint = `${instanceURL()}/mcp/a/${agent.name}`;
  return (
    <div className="stack">
      <p>
        <b>{agent.name}</b> was created. Copy its key now: it is shown only once.
      </p>
      <div className="code">
        <pre style={{ paddingRight: '2.5rem' }}>{agent.key}</pre>
        <div className="acts">
          <Copy value={agent.key} label="Copy the key" />
        </div>
      </div>
      <dl className="facts">
        <dt>Endpoint</dt>
        <dd className="row">
          <code>{endpoint}</code> <Copy value={endpoint} />
        </dd>
      </dl>
      <div className="acts">
        <Button
          onClick={() => {
            close();
            navigate(`/agents/${agent.name}`);
          }}
        >
          I saved the key
        </Button>
      </div>
    </div>
  );
}
