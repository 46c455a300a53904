// The events of a room, as AG-UI 1.0 names them: what the console reads of each.
// All members are somebody else's words, and may be absent.

export type AppShown = { toolCallId: string; resourceUri: string; serverId?: string; toolInput?: unknown; result?: unknown };

export type Interrupt = { id: string; reason?: string; message?: string; toolCallId?: string };

export interface RoomEvent {
  type: string;
  runId?: string;
  subagentRunId?: string;
  parentSubagentRunId?: string;
  name?: string;
  message?: string;
  messageId?: string;
  parentMessageId?: string;
  role?: string;
  delta?: string;
  toolCallId?: string;
  toolCallName?: string;
  content?: unknown;
  activityType?: string;
  value?: unknown;
  outcome?: unknown;
}

// outcomeOf is how a run ended. An outcome that is not known is read as success,
// as AG-UI has it.
export function outcomeOf(e: RoomEvent): { kind: 'success' | 'interrupt' | 'cancelled'; interrupts: Interrupt[] } {
  const o = e.outcome;
  const kind = typeof o === 'string' ? o : isRecord(o) ? String(o.type ?? '') : '';
  const interrupts = isRecord(o) && Array.isArray(o.interrupts) ? (o.interrupts as Interrupt[]) : [];
  if (kind === 'interrupt' || interrupts.length > 0) return { kind: 'interrupt', interrupts };
  return { kind: kind === 'cancelled' ? 'cancelled' : 'success', interrupts: [] };
}

export const isRecord = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
