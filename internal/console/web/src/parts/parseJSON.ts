// parseJSON reads a text that somebody writes; an empty one is nothing.
export function parseJSON(text: string): { value: unknown; problem?: string } {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) };
  } catch (err) {
    return { value: undefined, problem: (err as Error).message };
  }
}
