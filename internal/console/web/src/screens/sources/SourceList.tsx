import { Button, Menu, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Plus, Webhook } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { send } from '../../api/client';
import { useMe } from '../../api/data';
import { type Source, useSources } from '../../api/events';
import { can } from '../../app/permissions';
import { ActionMenu } from '../../parts/ActionMenu';
import { Confirm } from '../../parts/Confirm';
import { Ago, Copy, Panel, Tag } from '../../parts/elements';
import { HistoryButton } from '../../parts/History';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';
import { toast } from '../../parts/toasts';
import { useParam } from '../../parts/url';
import { AddSource } from './AddSource';
import { ReplaceSecret } from './ReplaceSecret';
import { pulled, styles } from './styles';
import { webhookURL } from './webhookURL';

export function SourceList() {
  const me = useMe().data;
  const may = can(me, 'admin');
  const sources = useSources();
  const cache = useQueryClient();
  const [making, setMaking] = useParam('new');
  const [rotating, setRotating] = useState<Source | null>(null);
  const settled = { onSettled: () => cache.invalidateQueries({ queryKey: ['sources'] }) };
  const [deleting, setDeleting] = useState<Source | null>(null);
  const turn = (s: Source, disabled: boolean) => send('PATCH', `/sources/${s.id}`, { disabled });
  const change = useMutation({
    mutationFn: (s: Source) => turn(s, !s.disabled),
    onSuccess: (_, s) =>
      toast(`${s.id} is ${s.disabled ? 'enabled' : 'disabled'}`, () => turn(s, s.disabled ?? false).finally(settled.onSettled)),
    ...settled,
  });
  const remove = useMutation({
    mutationFn: (s: Source) => send('DELETE', `/sources/${s.id}`),
    onSuccess: (_, s) => {
      setDeleting(null);
      toast(`${s.id} is deleted`);
    },
    ...settled,
  });
  const error = change.error;
  const add = may && (
    <Button size="compact-sm" variant="default" leftSection={<Plus size={13} />} onClick={() => setMaking('source')}>
      Add a source
    </Button>
  );
  return (
    <Panel title="Sources" acts={add}>
      {error && (
        <div className="pad">
          <ErrorCard error={error} />
        </div>
      )}
      <QueryContent query={sources} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon={<Webhook size={28} strokeWidth={1.5} aria-hidden />} title="No sources yet">
              A source has a webhook URL and a secret that signs its messages. You can also send events without a source, with the API.
            </Empty>
          ) : (
            <div className="rows">
              {all.map((s) => (
                <div key={s.id}>
                  <span className="grow">
                    <span className="row">
                      <Link className="link" href={`/events?source=${s.id}`}>
                        {s.id}
                      </Link>
                      <Tag>{styles[s.style].name}</Tag> {s.disabled && <Tag tone="warn">off</Tag>}{' '}
                      {s.declared && <Tag title={s.declared}>file</Tag>}
                      <span className="small soft">{s.title}</span>
                    </span>
                    {pulled(s.style) ? (
                      <span className="tiny soft mono">{s.key || 'action_jobs'}</span>
                    ) : (
                      <span className="row plain tiny soft">
                        <code className="cut">{webhookURL(s.path ?? '')}</code>{' '}
                        <Copy value={webhookURL(s.path ?? '')} label={`Copy the URL of ${s.id}`} />
                      </span>
                    )}
                  </span>
                  <span className="small soft wide">
                    added <Ago at={s.created_at} />
                  </span>
                  <HistoryButton object="source" id={s.id} name={s.id} />
                  {may && !s.declared && (
                    <ActionMenu label={`Actions for ${s.id}`}>
                      <Menu.Item onClick={() => setRotating(s)}>{pulled(s.style) ? 'Replace the URL' : 'Replace the secret'}</Menu.Item>
                      <Menu.Item onClick={() => change.mutate(s)}>{s.disabled ? 'Enable' : 'Disable'}</Menu.Item>
                      <Menu.Item color="red" onClick={() => setDeleting(s)}>
                        Delete
                      </Menu.Item>
                    </ActionMenu>
                  )}
                </div>
              ))}
            </div>
          )
        }
      </QueryContent>
      {deleting && (
        <Confirm
          title={`Delete ${deleting.id}?`}
          act="Delete"
          of={remove}
          run={() => remove.mutate(deleting)}
          close={() => {
            remove.reset();
            setDeleting(null);
          }}
        >
          <p>
            {pulled(deleting.style) ? 'Jobs are no longer read.' : 'Its webhook URL stops working, and its secret is erased.'} Its events
            are kept.
          </p>
          <p>This cannot be undone.</p>
        </Confirm>
      )}
      <Modal opened={making === 'source' && may} onClose={() => setMaking('')} title="Add a source" size="lg">
        {making === 'source' && <AddSource close={() => setMaking('')} />}
      </Modal>
      <Modal opened={rotating !== null} onClose={() => setRotating(null)} title={rotating ? `Replace the secret of ${rotating.id}` : ''}>
        {rotating && <ReplaceSecret source={rotating} close={() => setRotating(null)} />}
      </Modal>
    </Panel>
  );
}
