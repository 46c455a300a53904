import { Modal, Switch } from '@mantine/core';
import { useEffect, useMemo } from 'react';
import { useLocation } from 'wouter';
import { useKept } from '../parts/store';
import { elsewhere, isTyping, keyReader, type Shortcut } from './shortcuts';

// useShortcutsOn is whether the shortcuts without modifier keys are on. Users who speak to
// their computer, or hit keys by accident, can switch them off.
export const useShortcutsOn = () => useKept(localStorage, 'junctor-shortcuts', true);

// useShortcuts follows the shortcuts of a table, except while keys belong to something else.
export function useShortcuts(table: readonly Shortcut[], openHelp: () => void): void {
  const [, navigate] = useLocation();
  const [isOn] = useShortcutsOn();
  const read = useMemo(() => keyReader(table), [table]);
  useEffect(() => {
    if (!isOn) return;
    const press = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.isComposing || e.repeat || e.ctrlKey || e.metaKey || e.altKey || e.key === 'Shift') return;
      if (isTyping(e.target) || document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]')) return;
      const found = read(e.key, e.timeStamp);
      if (!found) return;
      e.preventDefault();
      if (found.help) openHelp();
      else if (found.path) navigate(found.path);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [isOn, read, navigate, openHelp]);
}

// ShortcutsDialog lists what keys do.
export function ShortcutsDialog({ table, close }: { table: readonly Shortcut[]; close: () => void }) {
  const [isOn, setOn] = useShortcutsOn();
  const screens = table.filter((s) => s.path);
  return (
    <Modal opened onClose={close} title="Keyboard shortcuts" size="lg">
      <div className="shortcuts">
        <div>
          <Keys name="Everywhere" list={[...elsewhere, ...table.filter((s) => !s.path)]} />
          <Switch
            mt="md"
            label="Use shortcuts without Ctrl or ⌘"
            description="They do nothing while you type or a dialog is open."
            checked={isOn}
            onChange={(e) => setOn(e.currentTarget.checked)}
          />
        </div>
        <Keys name="Go to a screen" list={screens} />
      </div>
    </Modal>
  );
}

function Keys({ name, list }: { name: string; list: readonly Shortcut[] }) {
  return (
    <section>
      <h3>{name}</h3>
      <dl>
        {list.map((s) => (
          <div key={s.keys.join(' ')}>
            <dt>{s.name}</dt>
            <dd>
              {s.keys.map((k, i) => (
                <span key={`${i} ${k}`}>
                  {i > 0 && <span className="tiny soft"> then </span>}
                  <kbd>{k}</kbd>
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
