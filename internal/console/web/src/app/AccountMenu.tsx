import { Menu, useMantineColorScheme } from '@mantine/core';
import { Check, Keyboard, LogOut, Monitor, Moon, Sun } from 'lucide-react';
import type { ReactNode } from 'react';
import { useVersion } from '../api/data';

export default function AccountMenu({ label, openHelp }: { label: ReactNode; openHelp: () => void }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const version = useVersion();
  const schemes = [
    { value: 'light', name: 'Light', icon: Sun },
    { value: 'dark', name: 'Dark', icon: Moon },
    { value: 'auto', name: 'System', icon: Monitor },
  ] as const;
  return (
    <Menu position="top-start" width="13rem" defaultOpened>
      <Menu.Target>
        <button type="button" className="whoami">
          {label}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        {schemes.map((s) => (
          <Menu.Item
            key={s.value}
            leftSection={<s.icon size={14} />}
            rightSection={colorScheme === s.value ? <Check size={14} /> : null}
            onClick={() => setColorScheme(s.value)}
          >
            {s.name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Keyboard size={14} />} rightSection={<kbd>?</kbd>} onClick={openHelp}>
          Keyboard shortcuts
        </Menu.Item>
        <form method="post" action="/logout">
          {/* The menu stays: a form that is gone is not sent. */}
          <Menu.Item component="button" type="submit" closeMenuOnClick={false} leftSection={<LogOut size={14} />}>
            Sign out
          </Menu.Item>
        </form>
        {version.data && <Menu.Label>Junctor {version.data.version}</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}
