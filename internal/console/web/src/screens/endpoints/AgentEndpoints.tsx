import { Button, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { query, send } from '../../api/client';
import { type AgentEndpoint, useAgentEndpoints } from '../../api/events';
import { Confirm } from '../../parts/Confirm';
import { Ago, Panel, Tag } from '../../parts/elements';
import { HistoryDialog } from '../../parts/History';
import { Empty, QueryContent } from '../../parts/states';
import { TokenForm } from './TokenForm';

// AgentEndpoints are the agents' own MCP endpoints, with the tokens that let
// deliveries in.
export function AgentEndpoints() {
  const cache = useQueryClient();
  const all = useAgentEndpoints(true);
  const [edit, setEdit] = useState<Partial<AgentEndpoint> | null>(null);
  const [removing, setRemoving] = useState<AgentEndpoint | null>(null);
  const drop = useMutation({
    mutationFn: (e: AgentEndpoint) => send('DELETE', `/agent-tokens/${encodeURIComponent(e.agent)}${query({ url: e.url })}`),
    onSuccess: () => setRemoving(null),
    onSettled: () => cache.invalidateQueries({ queryKey: ['agent-tokens'] }),
  });
  const [history, setHistory] = useState('');
  const close = () => setEdit(null);
  return (
    <Panel
      title="Endpoints of agents"
      acts={
        <Button size="compact-sm" variant="default" leftSection={<Plus size={13} />} onClick={() => setEdit({})}>
          Add an endpoint
        </Button>
      }
    >
      <QueryContent query={all} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon={<KeyRound size={28} strokeWidth={1.5} aria-hidden />} title="No endpoints yet">
              Add the MCP endpoint of an agent to deliver to it. The token is stored encrypted and sent only to its origin.
            </Empty>
          ) : (
            <div className="rows">
              {list.map((e) => (
                <div key={`${e.agent} ${e.origin}`} className="override">
                  <span className="grow">
                    <span className="row">
                      <b>{e.agent}</b> {e.signed && <Tag tone="good">signed</Tag>}
                      {e.suspended && (
                        <Tag tone="bad" title={e.suspended}>
                          token not sent
                        </Tag>
                      )}
                    </span>
                    <span className="tiny soft mono cut" style={{ display: 'block' }}>
                      {e.url}
                    </span>
                  </span>
                  <span className="small soft wide">
                    {e.header}
                    {e.reference && <span className="mono"> {e.reference}</span>}
                  </span>
                  <span className="small soft wide">
                    set <Ago at={e.updated_at} />
                  </span>
                  <Button size="compact-xs" variant="subtle" onClick={() => setEdit(e)}>
                    Edit
                  </Button>
                  <Button size="compact-xs" variant="subtle" color="red" onClick={() => setRemoving(e)}>
                    Remove
                  </Button>
                  <Button size="compact-xs" variant="subtle" color="gray" onClick={() => setHistory(e.agent)}>
                    History
                  </Button>
                </div>
              ))}
            </div>
          )
        }
      </QueryContent>
      {history && <HistoryDialog object="agent-endpoint" id={history} name={history} close={() => setHistory('')} />}
      {removing && (
        <Confirm
          title={`Remove the endpoint of ${removing.agent}?`}
          act="Remove"
          of={drop}
          run={() => drop.mutate(removing)}
          close={() => {
            drop.reset();
            setRemoving(null);
          }}
        >
          <p>
            Its token and its signing secret are erased. Deliveries to <code className="wrap">{removing.url}</code> go without them.
          </p>
          <p>This cannot be undone.</p>
        </Confirm>
      )}
      <Modal opened={edit !== null} onClose={close} title={edit?.agent ? `Endpoint of ${edit.agent}` : 'Add an endpoint of an agent'}>
        {edit && <TokenForm had={edit} close={close} />}
      </Modal>
    </Panel>
  );
}
