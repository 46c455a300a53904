import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Me } from '../api/client';
import { ScreenMenu } from './ScreenMenu';

// MenuDrawer is the menu where the window is narrow.
export default function MenuDrawer({ me, account, close }: { me: Me; account: ReactNode; close: () => void }) {
  return (
    <Drawer opened onClose={close} size="17rem" title="Junctor" classNames={{ body: 'drawer-body', content: 'drawer-content' }}>
      <div className="drawer-menu">
        <ScreenMenu me={me} />
        {account}
      </div>
    </Drawer>
  );
}
