import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { type ChangeFilter, useAdminChanges } from '../../api/changes';
import { changedObjects, changeEntryNames } from '../../parts/changes';
import { Panel } from '../../parts/elements';
import { FilterInput } from '../../parts/FilterInput';
import { ChangeList } from '../../parts/History';
import { NextPage } from '../../parts/NextPage';
import { periods, sinceOf } from '../../parts/period';
import { Empty, QueryContent } from '../../parts/states';
import { useParam } from '../../parts/url';

const own = ['q', 'actor', 'object', 'object_id', 'entry', 'range'];

// Changes lists the administrative changes of all objects.
export function Changes() {
  const [params, setParams] = useSearchParams();
  const [text, setText] = useParam('q');
  const [actor, setActor] = useParam('actor');
  const [object, setObject] = useParam('object');
  const [id, setID] = useParam('object_id');
  const [entry, setEntry] = useParam('entry');
  const [range, setRange] = useParam('range');
  const filter: ChangeFilter = { q: text, actor, object, object_id: id, entry_point: entry, since: sinceOf(range) };
  const pages = useAdminChanges(filter);
  const filtered = own.some((k) => params.has(k));
  return (
    <>
      <div className="row filters">
        <FilterInput label="Text in values" placeholder="Words in objects or values" minWidth="11rem" value={text} change={setText} />
        <Exact label="Actor" placeholder="Actor: name or ID" value={actor} change={setActor} />
        <NativeSelect
          aria-label="Object"
          value={object}
          onChange={(e) => setObject(e.currentTarget.value)}
          data={[{ value: '', label: 'Any object' }, ...changedObjects]}
        />
        <Exact label="Name or ID of the object" placeholder="Object: name or ID" value={id} change={setID} />
        <NativeSelect
          aria-label="Entry point"
          value={entry}
          onChange={(e) => setEntry(e.currentTarget.value)}
          data={[{ value: '', label: 'Any entry point' }, ...Object.entries(changeEntryNames).map(([value, label]) => ({ value, label }))]}
        />
        <NativeSelect
          aria-label="Time range"
          value={range}
          onChange={(e) => setRange(e.currentTarget.value)}
          data={periods.map(([value, label]) => ({ value, label }))}
        />
        {filtered && (
          <Button variant="subtle" color="gray" onClick={() => setParams({ tab: 'changes' }, { replace: true })}>
            Clear
          </Button>
        )}
      </div>
      <Panel>
        <QueryContent query={{ ...pages, data: pages.all }} rows={8}>
          {(all) =>
            all.length === 0 ? (
              <Empty title={filtered ? 'No change matches' : 'No recorded changes'}>
                {filtered
                  ? 'Actors, names and IDs must match exactly.'
                  : 'Changes by users, commands, the API and the settings file appear here.'}
              </Empty>
            ) : (
              <ChangeList list={all} objects />
            )
          }
        </QueryContent>
      </Panel>
      <NextPage pages={pages} />
    </>
  );
}

// Exact is a filter that has to match as a whole, so that it applies when it is complete.
function Exact({ label, placeholder, value, change }: { label: string; placeholder: string; value: string; change: (v: string) => void }) {
  const [typed, setTyped] = useState(value);
  const [from, setFrom] = useState(value);
  if (from !== value) {
    setFrom(value);
    setTyped(value);
  }
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      onChange={(e) => setTyped(e.currentTarget.value)}
      onBlur={() => change(typed.trim())}
      onKeyDown={(e) => e.key === 'Enter' && change(typed.trim())}
    />
  );
}
