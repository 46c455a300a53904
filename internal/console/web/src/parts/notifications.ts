import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { useLatestAttention, useNotifications } from '../api/attention';

// canNotify reports whether the browser can show notifications at all: it does so only for
// pages of HTTPS or of this machine.
export const canNotify = (): boolean => window.isSecureContext && 'Notification' in window;

// useNotifier shows a browser notification for each item that comes up while the page is
// open, if the user chose that. Items that are there when the page opens are not new.
export function useNotifier(): void {
  const [on] = useNotifications();
  const [, navigate] = useLocation();
  const list = useLatestAttention().data;
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!list) return;
    const before = known.current;
    known.current = new Set(list.items.map((i) => i.id));
    if (!before || !on || !canNotify() || Notification.permission !== 'granted') return;
    for (const item of list.items) {
      if (before.has(item.id) || item.severity === 'info') continue;
      // Pages with the same tag show one notification together.
      const shown = new Notification(item.object.name, { body: item.problem, tag: item.id });
      shown.onclick = () => {
        window.focus();
        navigate(item.console);
        shown.close();
      };
    }
  }, [list, on, navigate]);
}
