import type { ReactNode } from 'react';
import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { SchemaField } from '../../parts/SchemaForm';
import type { Wrong } from '../../parts/schema';
import { emptyShown, fieldOf, type ServerFields, type ServerKind, schemaOf, shownSchema } from './serverFields';

interface Props {
  names: string[];
  kind: ServerKind;
  fields: ServerFields;
  stored: ServerFields; // what the fields were before
  change: (part: Partial<ServerFields>) => void;
  wrong: Wrong[];
  disabled?: boolean;
  own?: Record<string, ReactNode>; // fields that are drawn in another way
  placeholders?: Record<string, string>;
}

// Fields draws settings of a server, as their schemas say.
export function Fields({ names, kind, fields, stored, change, wrong, disabled = false, own = {}, placeholders = {} }: Props) {
  const admin = can(useMe().data, 'admin');
  return names.map((name) => {
    if (own[name] !== undefined) return <div key={name}>{own[name]}</div>;
    const field = fieldOf(name);
    const schema = shownSchema(name, stored[name]);
    return (
      <SchemaField
        key={name}
        name={name}
        schema={schema}
        root={schema}
        value={fields[name]}
        change={(v) => change({ [name]: v ?? emptyShown(name) })}
        wrong={wrong}
        pointer={`/${name}`}
        needed={false}
        look={{
          label: field.labels?.[kind] ?? field.label,
          disabled: disabled || (field.admin === true && !admin),
          code: field.code ?? false,
          placeholder: placeholders[name] ?? schemaOf(name).examples?.map(String)[0],
          set: true,
        }}
      />
    );
  });
}

// Advanced holds the fields that few servers need. It is open if one of them is set.
export function Advanced({ open, ...props }: Props & { open: boolean }) {
  return (
    <details open={open || props.wrong.some((w) => props.names.some((n) => w.pointer.startsWith(`/${n}`))) || undefined}>
      <summary className="small soft">Advanced</summary>
      <div className="columns" style={{ marginTop: '0.75rem' }}>
        <Fields {...props} />
      </div>
    </details>
  );
}
