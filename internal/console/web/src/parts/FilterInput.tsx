import { TextInput } from '@mantine/core';
import { Search } from 'lucide-react';

// FilterInput is a field whose text chooses what a list shows.
export function FilterInput({
  label,
  placeholder = label,
  value,
  change,
  small = false,
  minWidth,
}: {
  label: string;
  placeholder?: string;
  value: string;
  change: (v: string) => void;
  small?: boolean;
  minWidth?: string; // of one that takes the room that a row has
}) {
  return (
    <TextInput
      {...(small ? { size: 'xs' } : {})}
      {...(minWidth ? { className: 'grow', style: { minWidth } } : {})}
      leftSection={<Search size={small ? 13 : 14} />}
      placeholder={placeholder}
      aria-label={label}
      value={value}
      onChange={(e) => change(e.currentTarget.value)}
    />
  );
}
