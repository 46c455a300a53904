import { Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Failure } from '../../api/client';
import type { Trigger } from '../../api/events';
import { Panel } from '../../parts/elements';
import { ErrorCard } from '../../parts/states';
import { bodyOf, type Draft, draftOf, placed, ready, type Wrong, wrongIn } from '../../parts/trigger';
import { useEdits, useSave } from '../../parts/useEdits';
import { ActionFields } from './ActionFields';
import type { Fields } from './fields';
import { MatchFields } from './MatchFields';
import { Preview } from './Preview';
import { type TrialInput, useTrial } from './trial';

// TriggerEditor makes a trigger, or changes the one of a name. While somebody writes, it
// is tried with an event, and what is wrong stands beside its field.
export function TriggerEditor({ had, of, fixed = false }: { had: Draft; of?: Trigger; fixed?: boolean }) {
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const name = of?.name;
  const fieldsOf = (t: Partial<Trigger>): Draft => (of ? draftOf(t) : had);
  const form = useEdits<Partial<Trigger>, Draft>(of ?? {}, fieldsOf);
  const draft = form.fields;
  const [tried, setTried] = useState<TrialInput>({ event: '', source: '', type: '', agent: '', data: '{\n  "name": "Ann"\n}' });
  const trial = useTrial(draft, tried, !fixed);
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => (name === undefined ? ['POST', '/triggers'] : ['PATCH', `/triggers/${name}`]),
    bodyOf: (fields) => (name === undefined ? { name: fields.name, ...bodyOf(fields) } : bodyOf(fields)),
    done: async (t) => {
      await cache.invalidateQueries({ queryKey: ['triggers'] });
      navigate(`/triggers/${t.name}`);
    },
  });
  const refused = saving.error ?? trial.error;
  const wrong: Wrong = {
    ...(refused instanceof Failure && refused.problem.code === 'invalid' ? placed(refused.message) : {}),
    ...wrongIn(draft),
  };
  const fields: Fields = {
    draft,
    wrong,
    change: (c) => {
      saving.clear();
      form.edit(c);
    },
  };
  const unplaced =
    saving.error && (!(saving.error instanceof Failure) || saving.error.problem.code !== 'invalid' || wrong.other !== undefined);
  return (
    <form
      className="columns wide-left"
      aria-label="Trigger"
      onSubmit={(e) => {
        e.preventDefault();
        if (!fixed) saving.save();
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
                  placeholder="Purpose of the trigger"
                  value={draft.title}
                  onChange={(e) => fields.change({ title: e.currentTarget.value })}
                />
              </div>
            </Panel>
          )}
          <MatchFields {...fields} />
          <ActionFields {...fields} data={trial.sample} />
          {unplaced ? <ErrorCard error={saving.error} /> : null}
          {saving.dialog}
          {!fixed && (
            <div className="acts">
              <Button type="submit" disabled={!ready(draft) || draft.name === ''} loading={saving.busy}>
                {name === undefined ? 'Add' : 'Save'}
              </Button>
              {!ready(draft) && <span className="small soft">Choose a tool and its server or agent.</span>}
            </div>
          )}
        </div>
      </fieldset>
      {!fixed && <Preview tried={tried} change={(c) => setTried((now) => ({ ...now, ...c }))} trial={trial} ready={ready(draft)} />}
    </form>
  );
}
