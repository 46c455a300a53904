import { Button, Select } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, Sparkles, X } from 'lucide-react';
import { useState } from 'react';
import { getAll, type Schemas, type ServerDetail, send } from '../../api/client';
import { useMe } from '../../api/data';
import { useModels } from '../../api/models';
import { follow } from '../../api/probe';
import { can } from '../../app/permissions';
import { Panel, Scroll } from '../../parts/elements';
import { counted } from '../../parts/format';
import { ErrorCard } from '../../parts/states';
import { Verb } from './Operations';

type Suggestion = Schemas['ToolSuggestion'];
type Face = Schemas['ToolFace'];

// ModelSuggestions is what a model would change about the tools of a generated server: a
// person looks at what is and what would be, and decides. Words of models and of
// documents are shown as text.
export function ModelSuggestions({ s }: { s: ServerDetail }) {
  const me = useMe().data;
  const asks = can(me, 'agents:write');
  const cache = useQueryClient();
  const models = useModels(asks);
  const [model, setModel] = useState('');
  const [passed, setPassed] = useState('');
  const path = `/servers/${s.id}/suggestions`;
  const key = ['servers', s.id, 'suggestions', s.updated_at];
  const there = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => getAll<Suggestion>(path, signal),
    select: (p) => p.items,
  });
  const ask = useMutation({
    mutationFn: () =>
      follow<Schemas['Suggested']>(`${path}/steps`, model ? { model } : {}, new AbortController().signal, (p) => setPassed(p.step)),
    onMutate: () => setPassed(''),
    onSettled: () => cache.invalidateQueries({ queryKey: key }),
  });
  const decide = useMutation({
    mutationFn: ({ word, ids }: { word: 'approve' | 'reject'; ids: string[] }) => send('POST', `${path}/${word}`, { ids }),
    onSettled: async () => {
      await Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
      cache.removeQueries({ queryKey: ['tool'], type: 'inactive' });
    },
  });
  const list = there.data ?? [];
  const names = models.data?.map((m) => m.name) ?? [];
  if (list.length === 0 && names.length === 0) return null; // nobody to ask, and nothing to decide on
  const all = list.map((one) => one.id);
  return (
    <Panel
      title={
        list.length > 0 ? `${counted(list.length, 'suggestion')} of a model` : 'A model can suggest better names, descriptions and roles'
      }
      acts={
        <>
          {names.length > 1 && (
            <Select
              size="xs"
              aria-label="Model to ask"
              placeholder="Choose a model"
              data={names}
              value={model || null}
              onChange={(v) => setModel(v ?? '')}
            />
          )}
          {names.length > 0 && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Sparkles size={13} />}
              loading={ask.isPending}
              disabled={names.length > 1 && !model}
              onClick={() => ask.mutate()}
            >
              Ask a model
            </Button>
          )}
          {list.length > 1 && (
            <>
              <Button size="compact-sm" loading={decide.isPending} onClick={() => decide.mutate({ word: 'approve', ids: all })}>
                Approve all
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                disabled={decide.isPending}
                onClick={() => decide.mutate({ word: 'reject', ids: all })}
              >
                Reject all
              </Button>
            </>
          )}
        </>
      }
    >
      {ask.isPending && (
        <p className="pad small soft" role="status">
          {passed ? `The model has checked ${passed} tools.` : 'Asking the model…'}
        </p>
      )}
      {ask.data && !ask.isPending && (
        <p className="pad small soft" role="status">
          {ask.data.items.length === 0
            ? 'The model has no suggestions.'
            : `The model suggests changes for ${counted(ask.data.items.length, 'tool')}.`}
          {ask.data.left_out.length > 0 &&
            ` ${counted(ask.data.left_out.length, 'suggestion')} could not be used: ${ask.data.left_out[0]?.reason}.`}
        </p>
      )}
      {list.length > 0 && (
        <Scroll label="Suggestions of a model" className="rows" height="22rem">
          {list.map((one) => (
            <div key={one.id} style={{ alignItems: 'flex-start', flexWrap: 'wrap' }}>
              <span className="stack tight" style={{ flex: '1 1 18rem' }}>
                <span className="row">
                  <span className="mono" style={{ fontWeight: 550 }}>
                    {one.tool}
                  </span>
                  <span className="tiny soft">
                    <Verb of={one.key} />
                  </span>
                  <span className="tiny soft">by {one.model}</span>
                </span>
                <Change what="Name" was={one.now.name} will={one.to.name} />
                <Change what="Description" was={one.now.description} will={one.to.description} />
                <Change what="Roles" was={one.now.roles?.join(', ')} will={one.to.roles?.join(', ')} />
                <Change what="Category" was={one.now.category} will={one.to.category} />
              </span>
              <Button
                size="compact-sm"
                variant="default"
                leftSection={<Check size={13} />}
                disabled={decide.isPending}
                aria-label={`Approve ${one.tool}`}
                onClick={() => decide.mutate({ word: 'approve', ids: [one.id] })}
              >
                Approve
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                leftSection={<X size={13} />}
                disabled={decide.isPending}
                aria-label={`Reject ${one.tool}`}
                onClick={() => decide.mutate({ word: 'reject', ids: [one.id] })}
              >
                Reject
              </Button>
            </div>
          ))}
        </Scroll>
      )}
      {(ask.error || decide.error || there.error) && (
        <div className="pad">
          <ErrorCard error={ask.error ?? decide.error ?? there.error} />
        </div>
      )}
    </Panel>
  );
}

// Change is one member of a tool, as it is and as it would be.
function Change({ what, was, will }: { what: string; was: Face['name']; will: Face['name'] }) {
  if (!will) return null;
  return (
    <span className="small wrap">
      <span className="soft">{what}:</span> {was && <del className="soft">{was}</del>} <ins>{will}</ins>
    </span>
  );
}
