// Naming is a name that somebody is about to write.
export interface Naming {
  from: number; // where its @ stands
  to: number;
  begun: string;
}

// atCaret finds the name that is being written at a place in a text.
export function atCaret(text: string, caret: number): Naming | undefined {
  const m = /(?:^|[\s(])@([a-z0-9-]{0,32})$/i.exec(text.slice(0, caret));
  if (!m) return undefined;
  const begun = m[1] ?? '';
  return { from: caret - begun.length - 1, to: caret, begun: begun.toLowerCase() };
}

// complete writes it to its end, with a space behind.
export function complete(text: string, n: Naming, name: string): { text: string; caret: number } {
  const after = text.slice(n.to).replace(/^[a-z0-9-]*/i, '');
  const space = /^\s/.test(after) ? '' : ' ';
  const head = `${text.slice(0, n.from)}@${name}`;
  return { text: `${head}${space}${after}`, caret: head.length + 1 };
}
