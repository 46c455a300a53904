import { Failure, type Probe, type Problem } from './client';
import { stream } from './events';

// Passed is a step that has passed, and how long after the beginning.
export interface Passed {
  step: string;
  elapsed_ns: number;
}

// follow reaches a server and tells of each step when it has passed.
export async function follow(path: string, body: unknown, signal: AbortSignal, each: (p: Passed) => void): Promise<Probe> {
  let probe: Probe | undefined;
  await stream('POST', path, body, signal, (e) => {
    const data: unknown = JSON.parse(e.data);
    if (e.name === 'step') each(data as Passed);
    else if (e.name === 'result') probe = data as Probe;
    else if (e.name === 'error') throw new Failure(data as Problem, `POST ${path}`);
  });
  if (!probe) throw new Failure({ code: 'unreachable', detail: 'The answer ended before the last step.' }, `POST ${path}`);
  return probe;
}
