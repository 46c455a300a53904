export interface DiffLine {
  left?: string;
  right?: string;
  same: boolean;
}

// diff puts two texts side by side, line by line: the longest common part stays
// together.
export function diff(before: string, after: string): DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  const common: number[][] = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (common[i] as number[])[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push({ left: a[i++], right: b[j++], same: true });
    else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) out.push({ left: a[i++], same: false });
    else out.push({ right: b[j++], same: false });
  }
  // What went and what came in its place stand beside each other.
  for (let k = 0; k < out.length; k++) {
    const line = out[k] as DiffLine;
    if (line.same || line.left === undefined) continue;
    const partner = out.findIndex((l, n) => n > k && !l.same && l.left === undefined && out.slice(k, n).every((m) => !m.same));
    if (partner < 0) continue;
    line.right = out[partner]?.right;
    out.splice(partner, 1);
  }
  return out;
}
