import { Failure, type Problem } from './client';
import { stream } from './stream';

// Passed is a step that has passed, and how long after the beginning.
export interface Passed {
  step: string;
  elapsed_ns: number;
}

// follow has something done, reaching a server or reading a document, and tells of
// each step when it has passed.
export async function follow<T>(path: string, body: unknown, signal: AbortSignal, each: (p: Passed) => void): Promise<T> {
  let result: T | undefined;
  await stream('POST', path, body, signal, (e) => {
    const data: unknown = JSON.parse(e.data);
    if (e.name === 'step') each(data as Passed);
    else if (e.name === 'result') result = data as T;
    else if (e.name === 'error') throw new Failure(data as Problem, `POST ${path}`);
  });
  if (!result) throw new Failure({ code: 'unreachable', detail: 'The response ended before the last step.' }, `POST ${path}`);
  return result;
}
