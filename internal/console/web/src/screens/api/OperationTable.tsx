import { ActionIcon, Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { Plus, X } from 'lucide-react';
import { kinds, methods, type Operation, type Param, places, withPath } from '../../parts/document';

export const blank = (): Operation => ({ method: 'GET', path: '', summary: '', parameters: [] });

const mono = { input: { fontFamily: 'var(--mono)' } };

// OperationTable is an API written down by hand: its methods, paths and parameters.
export function OperationTable({
  title,
  setTitle,
  operations,
  change,
}: {
  title: string;
  setTitle: (t: string) => void;
  operations: Operation[];
  change: (all: Operation[]) => void;
}) {
  const set = (i: number, op: Operation) => change(operations.map((o, j) => (j === i ? op : o)));
  return (
    <div className="stack">
      <TextInput label="Name of the API" placeholder="Orders" value={title} onChange={(e) => setTitle(e.currentTarget.value)} />
      {operations.map((op, i) => (
        <fieldset key={i} className="bare group stack tight" aria-label={`Operation ${i + 1}`}>
          <div className="row plain">
            <NativeSelect
              aria-label={`Method ${i + 1}`}
              value={op.method}
              data={methods}
              onChange={(e) => set(i, { ...op, method: e.currentTarget.value })}
              style={{ width: '6.5rem', flex: 'none' }}
            />
            <TextInput
              className="grow"
              aria-label={`Path ${i + 1}`}
              placeholder="/orders/{id}"
              value={op.path}
              styles={mono}
              onChange={(e) => set(i, withPath(op, e.currentTarget.value))}
            />
            <ActionIcon
              aria-label={`Remove operation ${i + 1}`}
              disabled={operations.length === 1}
              onClick={() => change(operations.filter((_, j) => j !== i))}
            >
              <X size={15} />
            </ActionIcon>
          </div>
          <TextInput
            size="xs"
            aria-label={`Description of operation ${i + 1}`}
            placeholder="Description for models"
            value={op.summary}
            onChange={(e) => set(i, { ...op, summary: e.currentTarget.value })}
          />
          {op.parameters.map((p, k) => (
            <Parameter
              key={k}
              p={p}
              no={`${k + 1} of operation ${i + 1}`}
              change={(next) => set(i, { ...op, parameters: op.parameters.map((x, m) => (m === k ? next : x)) })}
              remove={() => set(i, { ...op, parameters: op.parameters.filter((_, m) => m !== k) })}
            />
          ))}
          <div>
            <Button
              size="compact-xs"
              variant="subtle"
              leftSection={<Plus size={12} />}
              onClick={() =>
                set(i, {
                  ...op,
                  parameters: [
                    ...op.parameters,
                    {
                      name: '',
                      in: ['POST', 'PUT', 'PATCH'].includes(op.method) ? 'body' : 'query',
                      type: 'string',
                      required: false,
                      description: '',
                    },
                  ],
                })
              }
            >
              Add a parameter
            </Button>
          </div>
        </fieldset>
      ))}
      <div>
        <Button variant="default" leftSection={<Plus size={14} />} onClick={() => change([...operations, blank()])}>
          Add an operation
        </Button>
      </div>
    </div>
  );
}

function Parameter({ p, no, change, remove }: { p: Param; no: string; change: (p: Param) => void; remove: () => void }) {
  const path = p.in === 'path';
  return (
    <div className="param">
      <TextInput
        size="xs"
        aria-label={`Name of parameter ${no}`}
        placeholder="name"
        value={p.name}
        disabled={path}
        styles={mono}
        onChange={(e) => change({ ...p, name: e.currentTarget.value })}
      />
      <NativeSelect
        size="xs"
        aria-label={`Location of parameter ${no}`}
        value={p.in}
        disabled={path}
        data={path ? places : places.filter((x) => x !== 'path')}
        onChange={(e) => change({ ...p, in: e.currentTarget.value })}
      />
      <NativeSelect
        size="xs"
        aria-label={`Type of parameter ${no}`}
        value={p.type}
        data={kinds}
        onChange={(e) => change({ ...p, type: e.currentTarget.value })}
      />
      <TextInput
        size="xs"
        className="about"
        aria-label={`Description of parameter ${no}`}
        placeholder="description"
        value={p.description}
        onChange={(e) => change({ ...p, description: e.currentTarget.value })}
      />
      <Checkbox
        size="xs"
        label="required"
        aria-label={`Parameter ${no} is required`}
        checked={p.required}
        disabled={path}
        onChange={(e) => change({ ...p, required: e.currentTarget.checked })}
      />
      <ActionIcon aria-label={`Remove parameter ${no}`} disabled={path} onClick={remove}>
        <X size={13} />
      </ActionIcon>
    </div>
  );
}
