import { ActionIcon } from '@mantine/core';
import { Ellipsis } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';

const ItemMenu = lazy(() => import('./ItemMenu'));

export interface MenuEntry {
  name: string;
  icon: ReactNode;
  run: () => void;
}

// LazyMenu is an ActionMenu whose code is loaded when it is used for the first time, for
// screens that are looked at first.
export function LazyMenu({ label, items }: { label: string; items: readonly MenuEntry[] }) {
  const [used, setUsed] = useState(false);
  const button = (
    <ActionIcon aria-label={label} aria-haspopup="menu" onClick={() => setUsed(true)}>
      <Ellipsis size={16} />
    </ActionIcon>
  );
  if (!used) return button;
  return (
    <Suspense fallback={button}>
      <ItemMenu label={label} items={items} />
    </Suspense>
  );
}
