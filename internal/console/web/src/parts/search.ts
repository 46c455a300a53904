// matches says whether every word of a text stands in one of the others.
export function matches(text: string, ...inside: (string | undefined)[]): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const all = inside.join('\n').toLowerCase();
  return words.every((w) => all.includes(w));
}
