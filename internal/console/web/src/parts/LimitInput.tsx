import { NumberInput } from '@mantine/core';

export type Bound = 'per_second' | 'per_day' | 'concurrent' | 'burst';

// LimitInput is a limit of calls; an empty field is none. A change names it with 0, since the
// API keeps limits that a change does not name.
export const LimitInput = ({
  label,
  description,
  value,
  change,
  disabled = false,
}: {
  label: string;
  description?: string;
  value: number | undefined;
  change: (v: number) => void;
  disabled?: boolean;
}) => (
  <NumberInput
    label={label}
    description={description}
    placeholder="No limit"
    min={0}
    hideControls
    disabled={disabled}
    value={value || ''}
    onChange={(v) => change(v === '' ? 0 : Number(v))}
  />
);
