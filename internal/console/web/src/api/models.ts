import { useQuery } from '@tanstack/react-query';
import { getAll, type Schemas, send } from './client';

// Models, as the API has them. A key is sealed where it is given, and never
// comes back.

export type Model = Schemas['Model'];
export type NewModel = Pick<Model, 'name' | 'kind' | 'model' | 'base_url'> & { key?: string };
export type TurnLimits = Schemas['TurnLimits'];
export type Brain = Schemas['Brain'];

const at = (name: string) => `/models/${encodeURIComponent(name)}`;

export const useModels = (enabled = true) =>
  useQuery({ queryKey: ['models'], queryFn: ({ signal }) => getAll<Model>('/models', signal), select: (p) => p.items, enabled });
export const addModel = (m: NewModel) => send<Model>('POST', '/models', m);
export const removeModel = (name: string) => send('DELETE', at(name));
export const testModel = (name: string) => send<Schemas['ModelTest']>('POST', `${at(name)}/test`);
