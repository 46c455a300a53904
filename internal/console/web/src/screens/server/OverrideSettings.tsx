import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { SchemaField } from '../../parts/SchemaForm';
import { type Override, overrideSchema } from './overrideFields';
import { fieldOf } from './serverFields';

// OverrideSettings draws settings of one tool, as the API describes them.
export function OverrideSettings({
  names,
  override,
  may,
  change,
}: {
  names: string[];
  override: Override;
  may: boolean;
  change: (part: Partial<Override>) => void;
}) {
  const admin = can(useMe().data, 'admin');
  return names.map((name) => {
    const schema = overrideSchema.properties?.[name] ?? {};
    const field = fieldOf(name);
    return (
      <SchemaField
        key={name}
        name={name}
        schema={schema}
        root={overrideSchema}
        value={(override as Record<string, unknown>)[name]}
        change={(v) => change({ [name]: v })}
        wrong={[]}
        pointer={`/${name}`}
        needed={false}
        look={{ label: field.label, disabled: !may || (field.admin === true && !admin), placeholder: schema.examples?.map(String)[0] }}
      />
    );
  });
}
