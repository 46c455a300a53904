import type { DiffLine } from './diff';
import { Scroll } from './elements';

// SideBySide shows two texts line by line, with what went and what came.
export const SideBySide = ({ label, lines, height }: { label: string; lines: readonly DiffLine[]; height?: string }) => (
  <Scroll label={label} className="diff" {...(height ? { height } : {})}>
    {lines.map((l, i) => [
      <div key={`l${i}`} className={!l.same && l.left !== undefined ? 'gone' : ''}>
        {l.left}
      </div>,
      <div key={`r${i}`} className={!l.same && l.right !== undefined ? 'come' : ''}>
        {l.right}
      </div>,
    ])}
  </Scroll>
);
