// What a host and a View say to each other: MCP Apps 2026-01-26, and what the
// official library speaks beyond it.

export const version = '2026-01-26';

export type Id = string | number;
export type Params = Record<string, unknown>;

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

export interface Message {
  jsonrpc: '2.0';
  id?: Id;
  method?: string;
  params?: Params;
  result?: unknown;
  error?: RpcError;
}

// Refusal is an answer that the View hears as an error.
export class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const codes = { invalidRequest: -32600, noMethod: -32601, invalidParams: -32602, refused: -32000 };

export type Mode = 'inline' | 'fullscreen' | 'pip';
export const modes: Mode[] = ['inline', 'fullscreen', 'pip'];

export interface AppInfo {
  name: string;
  version: string;
  title?: string;
}

export interface AppCapabilities {
  tools?: { listChanged?: boolean };
  availableDisplayModes?: Mode[];
  experimental?: Record<string, unknown>;
}

export type Capability = Record<string, unknown>;

export interface HostCapabilities {
  openLinks?: Capability;
  downloadFile?: Capability;
  serverTools?: { listChanged?: boolean };
  serverResources?: { listChanged?: boolean };
  logging?: Capability;
  sandbox?: { permissions?: Record<string, Capability>; csp?: unknown };
  updateModelContext?: Record<string, Capability>;
  message?: Record<string, Capability>;
}

export interface HostContext {
  toolInfo?: { id?: Id; tool: unknown };
  theme?: 'light' | 'dark';
  styles?: { variables?: Record<string, string> };
  displayMode?: Mode;
  availableDisplayModes?: Mode[];
  containerDimensions?: { width?: number; height?: number; maxWidth?: number; maxHeight?: number };
  locale?: string;
  timeZone?: string;
  userAgent?: string;
  platform?: 'web' | 'desktop' | 'mobile';
  deviceCapabilities?: { touch: boolean; hover: boolean };
  safeAreaInsets?: { top: number; right: number; bottom: number; left: number };
}

export const isObject = (v: unknown): v is Params => typeof v === 'object' && v !== null && !Array.isArray(v);
