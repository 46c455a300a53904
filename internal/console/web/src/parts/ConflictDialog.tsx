import { Button, Modal } from '@mantine/core';
import type { FieldChange } from './edits';
import { Scroll, Tag } from './elements';

// ConflictDialog shows what somebody else changed while a form was filled in, and what
// is in the form, and asks which to keep.
export function ConflictDialog({
  opened,
  by,
  changes,
  labels,
  written,
  merge,
  reload,
  close,
}: {
  opened: boolean;
  by: string | undefined;
  changes: FieldChange[];
  labels: Record<string, string>;
  written: (field: string, value: unknown) => string | undefined; // of values that the dialog cannot write by itself
  merge: () => void;
  reload: () => void;
  close: () => void;
}) {
  const value = (c: FieldChange, v: unknown) => written(c.field, v) ?? text(v);
  return (
    <Modal opened={opened} onClose={close} title="Someone else changed this" size="lg">
      <div className="stack">
        <p>
          {by ? <strong>{by}</strong> : 'Another user'} saved changes while you were editing. Your changes are not saved, but still in the
          form.
        </p>
        <Scroll label="Changes">
          <table className="list conflict">
            <thead>
              <tr>
                <th>Field</th>
                <th>Yours</th>
                <th>Theirs</th>
              </tr>
            </thead>
            <tbody>
              {changes.map((c) => (
                <tr key={c.field}>
                  <td>
                    {labels[c.field] ?? c.field.replaceAll('_', ' ')} {c.edited && c.changed && <Tag tone="warn">both changed</Tag>}
                  </td>
                  <td className="wrap">{c.edited ? value(c, c.yours) : <span className="soft">not changed</span>}</td>
                  <td className="wrap">{c.changed ? value(c, c.theirs) : <span className="soft">not changed</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        <p className="small soft">
          <b>Merge and save</b> keeps your changes and takes the other fields as stored now. <b>Discard and reload</b> drops your changes.
        </p>
        <div className="acts">
          <Button onClick={merge}>Merge and save</Button>
          <Button variant="default" onClick={reload}>
            Discard and reload
          </Button>
          <Button variant="subtle" onClick={close}>
            Back to the form
          </Button>
        </div>
      </div>
    </Modal>
  );
}

function text(v: unknown): string {
  if (v === undefined || v === null || v === '') return '–';
  if (typeof v === 'boolean') return v ? 'yes' : 'no';
  return typeof v === 'string' ? v : JSON.stringify(v, null, 1);
}
