import type { View } from './api';
import type { ContextOverrides } from './context';
import type { Offered } from './files';
import type { AppInfo, Mode, Params } from './protocol';

// What is known of a View on the screen, and what it may be.

// opening: Go is asked for a View. loading: its proxy comes. starting: the page
// comes and greets. left: it went to another page. silent: it answers no more.
export type State = 'opening' | 'loading' | 'starting' | 'ready' | 'failed' | 'left' | 'silent' | 'closed';

export interface AppTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: Params;
  annotations?: { readOnlyHint?: boolean };
}

export type Question = { kind: 'link'; url: URL } | { kind: 'files'; files: Offered[] };

export interface Snapshot {
  state: State;
  error?: unknown; // of failed
  unapproved?: boolean; // of failed: nobody approved its page, and only an approved one was wanted
  slow: boolean; // it takes longer than one likes to wait
  view?: View;
  app?: AppInfo;
  mode: Mode;
  modes: Mode[]; // that both sides know
  height: number; // that the View wants
  granted: string[];
  question?: Question;
  messages: { at: Date; content: Params[] }[];
  model?: { at: Date; content?: Params[]; structured?: unknown };
  tools: AppTool[];
  trouble: string; // why the server did not answer last
  page: 'open' | 'changed' | 'removed';
  took?: number; // ms from opening to ready
}

export const optional = [
  'openLinks',
  'downloadFile',
  'serverTools',
  'serverResources',
  'logging',
  'message',
  'updateModelContext',
] as const;
export type Optional = (typeof optional)[number];

export interface Settings {
  version: string;
  small?: boolean; // a thumbnail: it is looked at, not used
  off?: Optional[]; // capabilities that are switched off
  allow?: string[]; // permissions that the person gave
  switches?: ContextOverrides;
  approvedOnly?: boolean; // a page that nobody approved is not loaded
  within?: number; // ms after which one that has not begun is given up; 0 is the usual time
}

export const limits = { proxy: 10_000, slow: 6_000, start: 30_000, farewell: 1_500, left: 1_500, ping: 4_000, pong: 4_000, tool: 30_000 };
export const features: Record<string, string> = {
  camera: 'camera',
  microphone: 'microphone',
  geolocation: 'geolocation',
  clipboardWrite: 'clipboard-write',
};
export const blocks: Record<string, string> = {
  text: 'text',
  image: 'image',
  audio: 'audio',
  resource: 'resource',
  resource_link: 'resourceLink',
};
export const every = Object.fromEntries(Object.values(blocks).map((b) => [b, {}]));
export const mostHeight = 4000;
export const usualHeight = 320;
