import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';

// Virtual draws of a long list only what is near the window, also in a box that scrolls
// by itself. All rows are of one height.
export function Virtual({ count, height, row, label }: { count: number; height: number; row: (i: number) => ReactNode; label: string }) {
  const box = useRef<HTMLUListElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 40]);

  useLayoutEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      const top = box.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(0, Math.floor(-top / height) - 10);
      const to = from + Math.ceil(window.innerHeight / height) + 20;
      setRange((now) => (now[0] === from && now[1] === to ? now : [from, to]));
    };
    const later = () => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    // Boxes do not pass the event on: it is caught on its way to them.
    window.addEventListener('scroll', later, { passive: true, capture: true });
    window.addEventListener('resize', later);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener('scroll', later, { capture: true });
      window.removeEventListener('resize', later);
    };
  }, [height]);

  const [from, to] = [Math.min(range[0], Math.max(0, count - 1)), Math.min(range[1], count)];
  const rows: ReactNode[] = [];
  for (let i = from; i < to; i++) rows.push(row(i));
  return (
    <ul
      ref={box}
      aria-label={label}
      style={{
        height: count * height,
        paddingTop: from * height,
        margin: 0,
        boxSizing: 'border-box',
        listStyle: 'none',
        paddingLeft: 0,
        overflow: 'hidden',
      }}
    >
      {rows}
    </ul>
  );
}
