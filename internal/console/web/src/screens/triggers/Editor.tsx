import { Button, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Failure, send } from '../../api/client';
import type { Trigger } from '../../api/happenings';
import { Panel } from '../../parts/bits';
import { ErrorCard } from '../../parts/states';
import { bodyOf, type Draft, placed, ready, type Wrong, wrongIn } from '../../parts/trigger';
import { ActionFields } from './ActionFields';
import { MatchFields } from './MatchFields';
import { Preview } from './Preview';
import { type Tried, useTrial } from './trial';

export interface Fields {
  draft: Draft;
  wrong: Wrong;
  change: (c: Partial<Draft>) => void;
}

// Editor makes a trigger, or changes the one of a name. While somebody writes, it
// is tried with an event, and what is wrong stands beside its field.
export function Editor({ had, name, fixed = false }: { had: Draft; name?: string; fixed?: boolean }) {
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState(had);
  const [tried, setTried] = useState<Tried>({ event: '', source: '', type: '', agent: '', data: '{\n  "name": "Ann"\n}' });
  const trial = useTrial(draft, tried, !fixed);
  const save = useMutation({
    mutationFn: () =>
      name === undefined
        ? send<Trigger>('POST', '/triggers', { name: draft.name, ...bodyOf(draft) })
        : send<Trigger>('PATCH', `/triggers/${name}`, bodyOf(draft)),
    onSuccess: async (t) => {
      await cache.invalidateQueries({ queryKey: ['triggers'] });
      navigate(`/triggers/${t.name}`);
    },
  });
  const refused = save.error ?? trial.error;
  const wrong: Wrong = {
    ...(refused instanceof Failure && refused.problem.code === 'invalid' ? placed(refused.message) : {}),
    ...wrongIn(draft),
  };
  const fields: Fields = {
    draft,
    wrong,
    change: (c) => {
      save.reset();
      setDraft((now) => ({ ...now, ...c }));
    },
  };
  const unplaced = save.error && (!(save.error instanceof Failure) || save.error.problem.code !== 'invalid' || wrong.other !== undefined);
  return (
    <form
      className="columns wide-left"
      aria-label="Trigger"
      onSubmit={(e) => {
        e.preventDefault();
        if (!fixed) save.mutate();
      }}
    >
      <fieldset className="bare" disabled={fixed}>
        <div className="stack" style={{ gap: '1.125rem' }}>
          {!fixed && (
            <Panel title="Name" pad>
              <div className="row" style={{ alignItems: 'flex-start' }}>
                {name === undefined && (
                  <TextInput
                    className="grow"
                    style={{ minWidth: '10rem' }}
                    label="Name"
                    placeholder="on-feedback"
                    required
                    value={draft.name}
                    error={wrong.name}
                    onChange={(e) => fields.change({ name: e.currentTarget.value })}
                  />
                )}
                <TextInput
                  className="grow"
                  style={{ minWidth: '10rem' }}
                  label="Title"
                  placeholder="What it is for"
                  value={draft.title}
                  onChange={(e) => fields.change({ title: e.currentTarget.value })}
                />
              </div>
            </Panel>
          )}
          <MatchFields {...fields} />
          <ActionFields {...fields} data={trial.sample} />
          {unplaced && <ErrorCard error={save.error} />}
          {!fixed && (
            <div className="acts">
              <Button type="submit" disabled={!ready(draft) || draft.name === ''} loading={save.isPending}>
                {name === undefined ? 'Add it' : 'Keep the changes'}
              </Button>
              {!ready(draft) && <span className="small soft">It needs a tool, and where that is.</span>}
            </div>
          )}
        </div>
      </fieldset>
      {!fixed && <Preview tried={tried} change={(c) => setTried((now) => ({ ...now, ...c }))} trial={trial} ready={ready(draft)} />}
    </form>
  );
}
