import { ActionIcon, Button } from '@mantine/core';
import { ArrowDown } from 'lucide-react';
import { type ReactNode, useCallback, useLayoutEffect, useRef, useState } from 'react';

const near = 80; // pixels from the end that still count as there

// Talk scrolls, and stays at the end while whoever reads is there.
export function Talk({ older, loadOlder, children }: { older: boolean; loadOlder: () => Promise<unknown>; children: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const stays = useRef(true);
  const top = useRef(0); // where it was scrolled to last
  const [away, setAway] = useState(false);
  const [busy, setBusy] = useState(false);
  const down = useCallback(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, []);
  useLayoutEffect(() => {
    if (!inner.current || !box.current) return;
    const grown = new ResizeObserver(() => stays.current && down());
    grown.observe(inner.current);
    grown.observe(box.current);
    return () => grown.disconnect();
  }, [down]);
  const more = async () => {
    const el = box.current;
    if (!el) return;
    setBusy(true);
    const from = el.scrollHeight - el.scrollTop;
    await loadOlder();
    setBusy(false);
    requestAnimationFrame(() => {
      el.scrollTop = el.scrollHeight - from; // what was in view stays in view
    });
  };
  return (
    <div className="talk-box">
      <section
        className="talk"
        aria-label="What was said"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        ref={box}
        onScroll={(e) => {
          const el = e.currentTarget;
          // Only who goes up leaves the end: what has grown since, as Apps do, is followed.
          if (el.scrollHeight - el.scrollTop - el.clientHeight < near) stays.current = true;
          else if (el.scrollTop < top.current) stays.current = false;
          top.current = el.scrollTop;
          setAway(!stays.current);
        }}
      >
        <div className="talk-inner" ref={inner} role="log" aria-label="Conversation">
          {older && (
            <Button className="older" size="compact-sm" variant="subtle" loading={busy} onClick={more}>
              What was said before
            </Button>
          )}
          {children}
        </div>
      </section>
      {away && (
        <ActionIcon className="to-end" variant="default" radius="xl" size="lg" aria-label="To the newest" onClick={down}>
          <ArrowDown size={16} />
        </ActionIcon>
      )}
    </div>
  );
}
