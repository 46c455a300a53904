import type { components } from './schema';

type Problem = components['schemas']['Problem'];

// Failure is an answer that is an error, or no answer at all.
export class Failure extends Error {
  readonly problem: Partial<Problem> & { code: string; detail: string };
  readonly request: string;
  readonly id: string; // what the log knows the request by

  constructor(problem: Partial<Problem> & { code: string; detail: string }, request: string, id = '') {
    super(problem.detail);
    this.problem = problem;
    this.request = request;
    this.id = id;
  }
}
