import type { Snapshot } from '../apps/state';

// Which of the two is to be seen where an App has something that stands for it.

// patience is how long an App may take to begin before what stands for it stays, in ms.
export const patience = 3000;

type Seen = Pick<Snapshot, 'state' | 'error' | 'unapproved'>;

// isOver says that the App will not come, or come back.
export const isOver = ({ state }: Seen) => state === 'failed' || state === 'left' || state === 'closed';

// showsApp says that the App is to be seen: once it has begun and while it answers.
// One that somebody asked for is also seen on its way.
export const showsApp = (s: Seen, asked: boolean) => s.state === 'ready' || (asked && !isOver(s) && s.state !== 'silent');

// reasonOf says why it is not.
export function reasonOf(s: Seen): string {
  switch (s.state) {
    case 'failed':
      return s.unapproved ? '' : s.error instanceof Error && s.error.message ? s.error.message : 'It could not be opened.';
    case 'left':
      return 'It left its sandbox, and was stopped.';
    case 'silent':
      return 'It does not answer.';
    default:
      return '';
  }
}
