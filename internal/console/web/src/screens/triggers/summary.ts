import type { Trigger } from '../../api/events';

// matchOf and actionOf say in a line what a trigger is for, and what it does.

export function matchOf(m: Trigger['match']): string {
  const parts = [
    m.type && `type ${m.type}`,
    m.source && `from ${m.source}`,
    m.agent && `about ${m.agent}`,
    m.tags?.length && `tagged ${m.tags.join(', ')}`,
    m.min_value !== undefined && `value ${m.min_value} or more`,
    m.max_value !== undefined && `value ${m.max_value} or less`,
    ...(m.where ?? []).map((c) => `${c.field} ${c.op} ${c.value === undefined ? '' : JSON.stringify(c.value)}`),
  ];
  return parts.filter(Boolean).join(', ') || 'every event';
}

export function actionOf(a: Trigger['action']): string {
  if (a.resolve) return `${a.tool} on an endpoint from ${a.resolve}`;
  return `${a.tool} on ${a.server ? a.server : a.agent === 'event' ? 'the agent of the event' : `agent ${a.agent}`}`;
}
