import { useEffect, useMemo } from 'react';
import { useLocation } from 'wouter';
import { useKept } from '../parts/store';
import { isTyping, keyReader, type Shortcut } from './shortcuts';

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
