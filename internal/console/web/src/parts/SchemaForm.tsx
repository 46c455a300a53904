import { ActionIcon, Button, NativeSelect, NumberInput, Switch, Textarea, TextInput } from '@mantine/core';
import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { choices, initial, kindOf, resolve, type Schema, type Wrong } from './schema';

interface FieldProps {
  schema: Schema;
  root: Schema;
  value: unknown;
  change: (v: unknown) => void; // undefined takes the value away
  wrong: Wrong[];
  pointer: string;
  name: string;
  needed: boolean;
  look?: Look;
}

// Look is how a field is drawn, beyond what its schema says.
export interface Look {
  label?: string; // in place of its name
  disabled?: boolean;
  code?: boolean; // in the font of code
  placeholder?: string | undefined;
  set?: boolean; // it always has a value, so that none stands for “not set”
}

// SchemaForm draws a form for an object.
export function SchemaForm({
  schema,
  value,
  change,
  wrong,
}: {
  schema: Schema;
  value: unknown;
  change: (v: unknown) => void;
  wrong: Wrong[];
}) {
  const s = resolve(schema, schema);
  if (kindOf(s) !== 'object' || !s.properties || Object.keys(s.properties).length === 0)
    return (
      <p className="soft">
        {kindOf(s) === 'object' && s.additionalProperties === false
          ? 'It takes no arguments.'
          : 'Its schema has no fields. Enter the arguments as JSON.'}
      </p>
    );
  return <Fields schema={s} root={schema} value={value} change={change} wrong={wrong} pointer="" />;
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);

function Fields({ schema, root, value, change, wrong, pointer }: Omit<FieldProps, 'name' | 'needed' | 'look'>) {
  const object = isObject(value) ? value : {};
  const set = (name: string, v: unknown) => {
    const next = { ...object };
    if (v === undefined) delete next[name];
    else next[name] = v;
    change(next);
  };
  return (
    <div className="stack">
      {Object.entries(schema.properties ?? {}).map(([name, p]) => (
        <SchemaField
          key={name}
          name={name}
          schema={resolve(p, root)}
          root={root}
          value={object[name]}
          change={(v) => set(name, v)}
          wrong={wrong}
          pointer={`${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`}
          needed={schema.required?.includes(name) ?? false}
        />
      ))}
    </div>
  );
}

// SchemaField draws one field.
export function SchemaField(props: FieldProps) {
  const { schema, value, change, wrong, pointer, name, needed, look = {} } = props;
  const id = useId();
  const kind = kindOf(schema);
  // What is needed and not there yet is said by the star alone.
  const error = wrong.find((w) => w.pointer === pointer && (value !== undefined || w.message !== 'is required'))?.message;
  const styles = look.code ? { styles: code } : {};
  const common = {
    id,
    label: look.label ?? name,
    description: help(schema),
    withAsterisk: needed,
    error,
    disabled: look.disabled,
    ...styles,
  };

  switch (kind) {
    case 'choice': {
      const all = choices(schema) ?? [];
      const at = all.findIndex((c) => JSON.stringify(c.value) === JSON.stringify(value));
      return (
        <NativeSelect
          {...common}
          value={at < 0 ? '' : String(at)}
          onChange={(e) => change(e.currentTarget.value === '' ? undefined : all[Number(e.currentTarget.value)]?.value)}
        >
          {!look.set && <option value="">{needed ? 'Choose' : 'Not set'}</option>}
          {all.map((c, i) => (
            <option key={i} value={i}>
              {c.name}
            </option>
          ))}
        </NativeSelect>
      );
    }
    case 'boolean':
      return <Switch {...common} checked={value === true} onChange={(e) => change(e.currentTarget.checked)} />;
    case 'number':
    case 'integer':
      return (
        <NumberInput
          {...common}
          value={typeof value === 'number' ? value : ''}
          allowDecimal={kind === 'number'}
          hideControls
          onChange={(v) => change(v === '' ? undefined : Number(v))}
        />
      );
    case 'string':
      return schema.format === 'textarea' || (schema.maxLength ?? 0) > 500 || /text|body|content|code|query|prompt|message/i.test(name) ? (
        <Textarea
          {...common}
          autosize
          minRows={2}
          maxRows={12}
          value={typeof value === 'string' ? value : ''}
          onChange={(e) => change(e.currentTarget.value === '' && !needed ? undefined : e.currentTarget.value)}
        />
      ) : (
        <TextInput
          {...common}
          type={schema.format === 'password' ? 'password' : 'text'}
          placeholder={look.placeholder ?? schema.format}
          value={typeof value === 'string' ? value : ''}
          onChange={(e) => change(e.currentTarget.value === '' && !needed ? undefined : e.currentTarget.value)}
        />
      );
    case 'object':
      if (schema.properties)
        return (
          <div className="field">
            <span className="label">
              {look.label ?? name} {needed && <span style={{ color: 'var(--bad)' }}>*</span>}
            </span>
            {help(schema) && <span className="help">{help(schema)}</span>}
            <div className="group">
              <Fields {...props} />
            </div>
          </div>
        );
      return <Free {...props} />;
    case 'array':
      return schema.items ? <List {...props} /> : <Free {...props} />;
    default:
      return <Free {...props} />;
  }
}

const code = { input: { fontFamily: 'var(--mono)' } };

const help = (s: Schema): string | undefined => s.description || (s.title ?? undefined);

function List({ schema, root, value, change, wrong, pointer, name, needed, look = {} }: FieldProps) {
  const list = Array.isArray(value) ? value : [];
  const items = resolve(schema.items ?? {}, root);
  const error = wrong.find((w) => w.pointer === pointer)?.message;
  return (
    <div className="field">
      <span className="label">
        {look.label ?? name} {needed && <span style={{ color: 'var(--bad)' }}>*</span>}
      </span>
      {help(schema) && <span className="help">{help(schema)}</span>}
      <div className="group stack tight">
        {list.map((v, i) => (
          <div key={i} className="row plain" style={{ alignItems: 'flex-end' }}>
            <div className="grow">
              <SchemaField
                name={`${name} ${i + 1}`}
                schema={items}
                root={root}
                value={v}
                change={(n) => change(list.map((o, j) => (j === i ? (n ?? '') : o)))}
                wrong={wrong}
                pointer={`${pointer}/${i}`}
                needed
              />
            </div>
            <ActionIcon aria-label={`Remove ${name} ${i + 1}`} size="lg" onClick={() => change(list.filter((_, j) => j !== i))}>
              <X size={15} />
            </ActionIcon>
          </div>
        ))}
        <div>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<Plus size={13} />}
            onClick={() => change([...list, initial(items, root) ?? ''])}
          >
            Add to {name}
          </Button>
        </div>
        {error && <span className="wrong">{error}</span>}
      </div>
    </div>
  );
}

function same(text: string, value: unknown): boolean {
  if (text.trim() === '') return value === undefined;
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

// Free is a field for whatever the form has no better for: JSON.
function Free({ schema, value, change, wrong, pointer, name, needed, look = {} }: FieldProps) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  const [bad, setBad] = useState('');
  // What was written elsewhere, as the whole JSON, takes its place.
  const shown = bad || same(text, value) ? text : value === undefined ? '' : JSON.stringify(value, null, 2);
  return (
    <div className="editor">
      <Textarea
        label={look.label ?? name}
        disabled={look.disabled}
        description={help(schema) ?? 'JSON'}
        withAsterisk={needed}
        error={bad || wrong.find((w) => w.pointer === pointer && value !== undefined)?.message}
        autosize
        minRows={2}
        maxRows={12}
        value={shown}
        onChange={(e) => {
          setText(e.currentTarget.value);
          try {
            change(e.currentTarget.value.trim() === '' ? undefined : JSON.parse(e.currentTarget.value));
            setBad('');
          } catch (err) {
            setBad((err as Error).message);
          }
        }}
      />
    </div>
  );
}
