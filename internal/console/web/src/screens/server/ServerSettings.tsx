import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useLocation } from 'wouter';
import { type ServerDetail, send } from '../../api/client';
import { Confirm } from '../../parts/Confirm';
import { Ago, Copy, Panel } from '../../parts/elements';
import { instanceURL } from '../../parts/instanceURL';
import { Principal } from '../../parts/Principal';
import { toast } from '../../parts/toasts';
import { forgetUnsaved } from '../../parts/unsaved';
import { OverrideRows } from './Overrides';
import { ServerForm } from './ServerForm';
import { ViewSwitch } from './ViewSwitch';

// ServerSettings are all that can be changed of a server.
export function ServerSettings({ s, writes }: { s: ServerDetail; writes: boolean }) {
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      <Facts s={s} />
      {(s.mode === 'bring-your-own' || s.mode === 'auto-generated') && <ServerForm key={s.id} s={s} may={writes} />}
      {s.mode === 'bring-your-own' && <OverrideRows key={`${s.id} tools`} s={s} may={writes} />}
      {s.mode !== 'discovered' && <ViewSwitch s={s} may={writes} />}
      {writes && <Remove s={s} />}
    </div>
  );
}

function Facts({ s }: { s: ServerDetail }) {
  const endpoint = `${instanceURL()}/mcp/s/${s.id}`;
  return (
    <Panel pad>
      <dl className="facts">
        <dt>ID</dt>
        <dd>
          <code>{s.id}</code>
        </dd>
        {s.discovered ? (
          <>
            <dt>Discovered for</dt>
            <dd className="row">
              <code className="wrap">{s.discovered}</code> <Copy value={s.discovered} />
            </dd>
          </>
        ) : (
          <>
            <dt>Endpoint</dt>
            <dd className="row">
              <code>{endpoint}</code> <Copy value={endpoint} />
            </dd>
          </>
        )}
        <dt>Added</dt>
        <dd>
          <Ago at={s.created_at} />{' '}
          {s.owner && (
            <span className="soft">
              by <Principal id={s.owner} />
            </span>
          )}
        </dd>
        <dt>Changed</dt>
        <dd>
          <Ago at={s.updated_at} />
        </dd>
        {s.declared && (
          <>
            <dt>Declared in</dt>
            <dd>
              <code>{s.declared}</code>. Change it in that file.
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}

function Remove({ s }: { s: ServerDetail }) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const [asked, { open, close }] = useDisclosure();
  const remove = useMutation({
    mutationFn: () => send('DELETE', `/servers/${s.id}`),
    onSuccess: async () => {
      await Promise.all([
        cache.invalidateQueries({ queryKey: ['servers'], exact: true }),
        cache.invalidateQueries({ queryKey: ['tools'] }),
      ]);
      forgetUnsaved();
      navigate('/servers');
      toast(`${s.title || s.id} is removed`);
    },
  });
  return (
    <div>
      <Button color="red" variant="light" leftSection={<Trash2 size={15} />} onClick={open}>
        Remove the server
      </Button>
      {asked && (
        <Confirm title={`Remove ${s.id}?`} act="Remove" typed={s.id} of={remove} run={() => remove.mutate()} close={close}>
          <p>This removes its tools for everyone, its credentials, and its tools from the allowed tools of agents. Records are kept.</p>
        </Confirm>
      )}
    </div>
  );
}
