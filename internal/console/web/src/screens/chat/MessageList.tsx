import { ActionIcon, Button } from '@mantine/core';
import { ArrowDown } from 'lucide-react';
import { type ReactNode, useCallback, useLayoutEffect, useRef, useState } from 'react';

const near = 80; // pixels from the end that still count as there
const recently = 500; // milliseconds after an input event in which a scroll is the reader's

// MessageList scrolls, and stays at the end while the reader is there.
export function MessageList({ older, loadOlder, children }: { older: boolean; loadOlder: () => Promise<unknown>; children: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const stays = useRef(true);
  const seen = useRef({ top: 0, height: 0 }); // scrollTop and scrollHeight when they were last looked at
  const touched = useRef(-recently); // when the reader last used wheel, finger, key or pointer
  const [away, setAway] = useState(false);
  const [busy, setBusy] = useState(false);
  const down = useCallback(() => {
    const el = box.current;
    if (!el) return;
    el.scrollTop = el.scrollHeight;
    seen.current = { top: el.scrollTop, height: el.scrollHeight };
  }, []);
  const touch = () => {
    touched.current = performance.now();
  };
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
        aria-label="Messages"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        ref={box}
        onWheel={touch}
        onTouchMove={touch}
        onKeyDown={touch}
        onPointerDown={touch}
        onScroll={(e) => {
          const { scrollTop: top, scrollHeight: height, clientHeight } = e.currentTarget;
          // Only a reader who goes up leaves the end. The browser goes up too when
          // content shrinks, and the content may have grown again since.
          const byReader = height === seen.current.height || performance.now() - touched.current < recently;
          if (height - top - clientHeight < near) stays.current = true;
          else if (top < seen.current.top && byReader) stays.current = false;
          seen.current = { top, height };
          setAway(!stays.current);
          if (stays.current && height - top - clientHeight >= near) down();
        }}
      >
        <div className="talk-inner" ref={inner} role="log" aria-label="Conversation">
          {older && (
            <Button className="older" size="compact-sm" variant="subtle" loading={busy} onClick={more}>
              Earlier messages
            </Button>
          )}
          {children}
        </div>
      </section>
      {away && (
        <ActionIcon className="to-end" variant="default" radius="xl" size="lg" aria-label="Scroll to the latest message" onClick={down}>
          <ArrowDown size={16} />
        </ActionIcon>
      )}
    </div>
  );
}
