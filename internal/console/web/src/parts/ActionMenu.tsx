import { ActionIcon, Menu } from '@mantine/core';
import { Ellipsis } from 'lucide-react';
import type { ReactNode } from 'react';

// ActionMenu is the button at the end of a row that opens what can be done with it.
export const ActionMenu = ({ label, opened = false, children }: { label: string; opened?: boolean; children: ReactNode }) => (
  <Menu position="bottom-end" defaultOpened={opened}>
    <Menu.Target>
      <ActionIcon aria-label={label}>
        <Ellipsis size={16} />
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>{children}</Menu.Dropdown>
  </Menu>
);
