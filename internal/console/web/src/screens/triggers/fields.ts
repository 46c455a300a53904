import type { Draft, Wrong } from '../../parts/trigger';

// Fields are what each part of the trigger form reads and changes.
export interface Fields {
  draft: Draft;
  wrong: Wrong;
  change: (c: Partial<Draft>) => void;
}
