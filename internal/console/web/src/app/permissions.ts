import type { Me, Schemas } from '../api/client';

export type Scope = Schemas['Key']['scopes'][number];

// can says whether the person's role carries a scope. It only decides what is
// shown: the API judges for itself.
export const can = (me: Pick<Me, 'scopes'> | undefined, scope: Scope): boolean =>
  me !== undefined && (me.scopes.includes(scope) || me.scopes.includes('admin'));
