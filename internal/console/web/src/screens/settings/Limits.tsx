import { Button, Modal, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { get, type Schemas, send } from '../../api/client';
import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { Panel, Scroll } from '../../parts/elements';
import { count } from '../../parts/format';
import { HistoryButton } from '../../parts/History';
import { type Bound, LimitInput } from '../../parts/LimitInput';
import { ErrorCard, QueryContent } from '../../parts/states';
import { toast } from '../../parts/toasts';
import { forgetUnsaved } from '../../parts/unsaved';
import { useEdits, useSave } from '../../parts/useEdits';

type Policy = Schemas['LimitState'];
type Bounds = Schemas['Limits'];

export function Limits() {
  const me = useMe().data;
  const policy = useQuery({ queryKey: ['limits'], queryFn: ({ signal }) => get<Policy>('/limits', signal) });
  const [edit, setEdit] = useState<{ name: string; fresh: boolean } | null>(null);
  const may = can(me, 'admin');
  return (
    <Panel
      title="Limits of tiers and tools"
      acts={
        may && (
          <>
            <HistoryButton object="limits" id="" name="limits" size="compact-sm" />
            <Button size="compact-sm" variant="default" leftSection={<Plus size={13} />} onClick={() => setEdit({ name: '', fresh: true })}>
              Add
            </Button>
          </>
        )
      }
    >
      <QueryContent query={policy}>
        {(p) => (
          <Scroll label="Limits">
            <table className="list">
              <thead>
                <tr>
                  <th>Tier or tool</th>
                  <th className="right">Per second</th>
                  <th className="right wide">Burst</th>
                  <th className="right">Per day</th>
                  <th className="right wide">Concurrency</th>
                  <th className="wide">When exceeded</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {[...Object.entries(p.tiers ?? {}), ...Object.entries(p.tools ?? {})].map(([name, l]) => (
                  <tr key={name}>
                    <td className={name.includes('/') ? 'mono' : ''} style={{ fontWeight: 550 }}>
                      {name}
                    </td>
                    <td className="right num">{l.per_second ?? '–'}</td>
                    <td className="right num wide">{l.burst ?? '–'}</td>
                    <td className="right num">{l.per_day ? count(l.per_day) : '–'}</td>
                    <td className="right num wide">{l.concurrent ?? '–'}</td>
                    <td className="wide soft">{l.over_limit === 'queue' ? 'wait' : 'refuse'}</td>
                    <td className="right">
                      {may && (
                        <Button size="compact-xs" variant="subtle" onClick={() => setEdit({ name, fresh: false })}>
                          Edit
                        </Button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </QueryContent>
      <Modal opened={edit !== null} onClose={() => setEdit(null)} title={edit?.fresh ? 'Add a limit' : edit?.name}>
        {edit && policy.data && <Edit key={edit.name} {...edit} policy={policy.data} close={() => setEdit(null)} />}
      </Modal>
    </Panel>
  );
}

function Edit({ name: before, fresh, policy, close }: { name: string; fresh: boolean; policy: Policy; close: () => void }) {
  const cache = useQueryClient();
  const [name, setName] = useState(before);
  const fieldsOf = (p: Policy): Bounds => ({ ...(p.tiers?.[before] ?? p.tools?.[before]) });
  const form = useEdits(policy, fieldsOf);
  const l = form.fields;
  const done = { onSettled: () => cache.invalidateQueries({ queryKey: ['limits'] }) };
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', '/limits'],
    bodyOf: (bounds) => ({ [name.includes('/') ? 'tools' : 'tiers']: { [name]: bounds } }),
    done: () => {
      close();
      return cache.invalidateQueries({ queryKey: ['limits'] });
    },
  });
  const kind = before.includes('/') ? 'tools' : 'tiers';
  const remove = useMutation({
    mutationFn: () => send('PATCH', '/limits', { remove: [before] }),
    onSuccess: () => {
      forgetUnsaved();
      close();
      toast(`The limits of ${before} are removed`, () =>
        send('PATCH', '/limits', { [kind]: { [before]: form.stored } }).finally(done.onSettled),
      );
    },
    onSettled: done.onSettled,
  });
  const field = (key: Bound, label: string) => <LimitInput label={label} value={l[key]} change={(v) => form.edit({ [key]: v })} />;
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        saving.save();
      }}
    >
      {fresh && <TextInput label="Tier, or server/tool" value={name} data-autofocus onChange={(e) => setName(e.currentTarget.value)} />}
      {field('per_second', 'Calls per second')}
      {field('burst', 'Burst')}
      {field('per_day', 'Calls per day')}
      {field('concurrent', 'Concurrency')}
      <NativeSelect
        label="When exceeded"
        value={l.over_limit ?? 'reject'}
        data={[
          { value: 'reject', label: 'refuse the call' },
          { value: 'queue', label: 'queue the call' },
        ]}
        onChange={(e) => form.edit({ over_limit: e.currentTarget.value as Bounds['over_limit'] })}
      />
      {(saving.error ?? remove.error) ? <ErrorCard error={saving.error ?? remove.error} /> : null}
      {saving.dialog}
      <div className="acts">
        <Button type="submit" disabled={!name} loading={saving.busy}>
          Save
        </Button>
        {!fresh && (
          <Button variant="light" color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
            Remove
          </Button>
        )}
      </div>
    </form>
  );
}
