import { Button } from '@mantine/core';
import { Ban, Check, CircleHelp, CircleX, Hand, Loader } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { useMe } from '../../api/data';
import type { Approval, Decision } from '../../api/rooms';
import { can } from '../../app/permissions';
import { Tag, type Tone } from '../../parts/elements';
import { Code, Json } from '../../parts/Json';
import { AppPlace } from './AppPlace';
import type { CallState, RoomCall } from './room';

// ApprovalState is what a person may say to calls that wait.
export interface ApprovalState {
  approvals: readonly Approval[];
  decided: Readonly<Record<string, Decision>>;
  busy: boolean;
  decide: (id: string, d: Decision) => void;
}

const states: Record<CallState, [Tone, string, ReactNode]> = {
  running: ['act', 'running', <Loader key="" size={14} aria-hidden className="turns" />],
  waiting: ['warn', 'Approval needed', <Hand key="" size={14} aria-hidden />],
  done: ['good', 'done', <Check key="" size={14} aria-hidden />],
  failed: ['bad', 'failed', <CircleX key="" size={14} aria-hidden />],
  denied: ['warn', 'denied', <Ban key="" size={14} aria-hidden />],
  lost: ['bad', 'lost', <CircleHelp key="" size={14} aria-hidden />],
};

export function CallCard({
  call,
  agent,
  judge,
  open,
  replaced,
  offer,
  writing,
}: {
  call: RoomCall;
  agent: string;
  judge: ApprovalState | undefined;
  open: boolean;
  replaced: boolean; // by what the agent shows of the result
  offer: (text: string) => void;
  writing: string | undefined;
}) {
  const me = useMe().data;
  const ready = call.view !== undefined && call.state === 'done';
  const [app, setApp] = useState<'closed' | 'opened' | 'asked'>();
  if (ready && app === undefined) setApp(open ? 'opened' : 'closed');
  // Results are shown once: what the agent shows of them takes the place of an App that
  // nobody asked for, and the App takes the place of the text.
  const inApp = ready && (app === 'asked' || (app === 'opened' && !replaced));
  const [tone, name, icon] = states[call.state] ?? ['', call.state, null];
  const asked = call.state === 'waiting' ? judge?.approvals.find((a) => a.call.id === call.id) : undefined;
  return (
    <>
      {asked && judge ? (
        <ApprovalRequest call={call} agent={agent} approval={asked} judge={judge} />
      ) : (
        <div className="called-row">
          <details className="called" data-state={call.state}>
            <summary>
              <span className={`called-icon ${tone}`}>{icon}</span>
              <code className="cut">{call.name}</code>
              <span className="cut soft tiny mono grow">{writing ?? short(call.arguments)}</span>
              <Tag tone={tone}>{name}</Tag>
            </summary>
            <div className="pad stack tight">
              <span className="tiny soft">Arguments</span>
              {writing === undefined ? <Json value={call.arguments ?? {}} /> : <Code>{writing}</Code>}
              {call.result_text && (
                <>
                  <span className="tiny soft">Response</span>
                  {inApp ? <p className="small soft">The App below shows the response.</p> : <Code>{call.result_text}</Code>}
                </>
              )}
              {call.state === 'lost' && (
                <p className="small soft">The instance stopped during the call. It is unknown whether the call took effect.</p>
              )}
            </div>
          </details>
          {call.record && can(me, 'audit:read') && (
            <Link className="link small" href={`/calls/${call.record}`}>
              Call details
            </Link>
          )}
        </div>
      )}
      {call.state === 'failed' && call.result_text && <p className="called-fault small cut">{call.result_text}</p>}
      {ready && <AppPlace call={call} agent={agent} on={inApp} open={() => setApp('asked')} offer={offer} />}
    </>
  );
}

const mostShort = 120;

// short is what a call was given, on one line.
function short(args: unknown): string {
  if (args === undefined || args === null) return '';
  const text = JSON.stringify(args) ?? '';
  return text === '{}' ? '' : text.slice(0, mostShort);
}

// ApprovalRequest is a call that waits for a person's word.
function ApprovalRequest({ call, agent, approval, judge }: { call: RoomCall; agent: string; approval: Approval; judge: ApprovalState }) {
  const said = judge.decided[approval.id];
  const open = judge.approvals.filter((a) => a.run === approval.run && !judge.decided[a.id]).length;
  return (
    <section className="asked" aria-label={`May ${agent} call ${call.name}?`}>
      <p>
        May <b>{agent}</b> call <code>{call.name}</code>?
      </p>
      <Json value={approval.call.arguments ?? call.arguments ?? {}} />
      {said ? (
        <p className="small soft" role="status">
          {said.allow ? 'Allowed' : 'Denied'}
          {open > 0 && `. Decide ${open} more before the run continues`}.
        </p>
      ) : (
        <div className="acts">
          <Button size="compact-sm" loading={judge.busy} onClick={() => judge.decide(approval.id, { allow: true, remember: false })}>
            Allow once
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            disabled={judge.busy}
            onClick={() => judge.decide(approval.id, { allow: true, remember: true })}
          >
            Always allow in this room
          </Button>
          <Button
            size="compact-sm"
            variant="light"
            color="red"
            disabled={judge.busy}
            onClick={() => judge.decide(approval.id, { allow: false, remember: false })}
          >
            Deny
          </Button>
        </div>
      )}
    </section>
  );
}
