import { useQuery } from '@tanstack/react-query';
import { type Agent, get, type Page, send } from './client';

// Models, as the API has them. A key is sealed where it is given, and never
// comes back.

export interface Model {
  name: string;
  kind: 'anthropic' | 'openai';
  base_url?: string;
  model: string;
  has_key: boolean;
  created_at: string;
  updated_at: string;
}

export interface NewModel {
  name: string;
  kind: Model['kind'];
  base_url?: string;
  model: string;
  key?: string;
}

export interface TurnLimits {
  turns?: number;
  calls?: number;
  call_seconds?: number;
  seconds?: number;
  tokens?: number;
}

export interface Brain {
  model?: string;
  instructions?: string;
  rules?: string;
  limits?: TurnLimits;
}

const at = (name: string) => `/models/${encodeURIComponent(name)}`;

export const useModels = (enabled = true) =>
  useQuery({ queryKey: ['models'], queryFn: ({ signal }) => get<Page<Model>>('/models', signal), select: (p) => p.items, enabled });
export const addModel = (m: NewModel) => send<Model>('POST', '/models', m);
export const removeModel = (name: string) => send('DELETE', at(name));
export const testModel = (name: string) => send<{ ok?: boolean; detail?: string }>('POST', `${at(name)}/test`);
export const brainOf = (a: Agent): Brain | undefined => (a as Agent & { brain?: Brain }).brain;
