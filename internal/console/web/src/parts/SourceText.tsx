import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { rowAt, rowsOf, rowText } from './document';
import type { Tone } from './elements';

const height = 20;
const character = 7.2; // pixels, of the monospaced font at 12
const tallest = 8_000_000; // pixels; browsers bound how tall a part may be

export interface Place {
  line: number;
  column: number;
}

// SourceText shows a text with its line numbers, at a place. However long it is, only
// what is in view is drawn.
export function SourceText({
  text,
  at,
  marks,
  label,
  size = '30rem',
}: {
  text: string;
  at: Place | undefined;
  marks?: Map<number, Tone>;
  label: string;
  size?: string;
}) {
  const box = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, letters: 80 });
  const rows = useMemo(() => rowsOf(text, view.letters), [text, view.letters]);
  const whole = rows.count * height;
  const drawn = Math.min(whole, tallest);
  // How far the text moves for each pixel that is scrolled.
  const pace = drawn > view.height ? (whole - view.height) / (drawn - view.height) : 1;

  useLayoutEffect(() => {
    const b = box.current;
    if (!b) return;
    let frame = 0;
    const look = () => {
      frame = 0;
      // Lines are cut where the part ends, a little less often than it is resized.
      const room = (b.clientWidth - (b.querySelector('.no')?.getBoundingClientRect().width ?? 64) - 24) / character;
      const next = { top: b.scrollTop, height: b.clientHeight, letters: Math.max(20, Math.floor(room / 4) * 4) };
      setView((v) => (v.top === next.top && v.height === next.height && v.letters === next.letters ? v : next));
    };
    const later = () => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    b.addEventListener('scroll', later, { passive: true });
    const seen = new ResizeObserver(later);
    seen.observe(b);
    return () => {
      cancelAnimationFrame(frame);
      b.removeEventListener('scroll', later);
      seen.disconnect();
    };
  }, []);

  const line = at?.line ?? 0;
  const column = at?.column ?? 1;
  useEffect(() => {
    const b = box.current;
    if (!b || line < 1) return;
    const room = b.clientHeight;
    const most = rows.count * height;
    const bound = Math.min(most, tallest);
    const top = rowAt(rows, line, column) * height - room / 3;
    b.scrollTop = most > room ? (Math.max(0, top) * (bound - room)) / (most - room) : 0;
  }, [rows, line, column]);

  const top = view.top * pace;
  const first = Math.max(0, Math.floor(top / height) - 8);
  const last = Math.min(rows.count, Math.ceil((top + view.height) / height) + 8);
  const out: ReactNode[] = [];
  for (let i = first; i < last; i++) {
    const of = rows.of[i] ?? 0;
    const begins = i === 0 || rows.of[i - 1] !== of;
    out.push(
      <div key={i} className={marks?.get(of) ?? ''} aria-current={of === line ? 'true' : undefined}>
        <span className="no">{begins ? of : '\u00a0'}</span>
        {begins ? paint(rowText(rows, i)) : rowText(rows, i)}
      </div>,
    );
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section ref={box} className="source" aria-label={label} tabIndex={0} style={{ height: `min(${size}, ${whole + 18}px)` }}>
      <div style={{ height: drawn }}>
        <div className="lines" style={{ transform: `translateY(${view.top + first * height - top}px)` }}>
          {out}
        </div>
      </div>
    </section>
  );
}

const key = /^(\s*(?:- )*)("(?:[^"\\]|\\.)*"|[\w$./{}~@-]+)(\s*:)(?=\s|$|[[{"\d])/;

// paint tells the name of a member from what it holds.
function paint(text: string): ReactNode {
  const m = key.exec(text);
  if (!m) return text || ' ';
  return (
    <>
      {m[1]}
      <span className="k">{m[2]}</span>
      {text.slice((m[1]?.length ?? 0) + (m[2]?.length ?? 0))}
    </>
  );
}
