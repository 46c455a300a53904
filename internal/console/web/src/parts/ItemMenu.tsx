import { Menu } from '@mantine/core';
import { ActionMenu } from './ActionMenu';
import type { MenuEntry } from './LazyMenu';

export default function ItemMenu({ label, items }: { label: string; items: readonly MenuEntry[] }) {
  return (
    <ActionMenu label={label} opened>
      {items.map((i) => (
        <Menu.Item key={i.name} leftSection={i.icon} onClick={i.run}>
          {i.name}
        </Menu.Item>
      ))}
    </ActionMenu>
  );
}
