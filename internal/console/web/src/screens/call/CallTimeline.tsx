import { Check, Minus, X } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Call } from '../../api/client';
import { entryPointNames } from '../../parts/calls';
import { absolute, bytes, span } from '../../parts/format';
import { PrincipalName } from '../../parts/Principal';
import { checks, isRefused, spans, stoppedAt } from './checks';

const ends: Record<string, string> = {
  error: 'The call ran and failed.',
  timeout: 'The server did not respond in time. Junctor cancelled the request.',
  canceled: 'The caller cancelled the call. Junctor cancelled the request to the server.',
  lapsed: 'The server asked for input, but none came.',
};

type Mark = 'done' | 'bad' | 'open' | 'none';

// CallTimeline tells a call from its entry point to its end: who asked, what each gate
// decided, each attempt, and what came of it.
export function CallTimeline({ c }: { c: Call }) {
  const refused = isRefused(c);
  const stop = stoppedAt(c);
  const retried = c.timing?.failed ?? [];
  const running = c.status === 'running';
  return (
    <ol className="steps">
      <Step
        mark="done"
        title={
          <>
            Request from <PrincipalName issuer={c.issuer} subject={c.subject} agent={c.agent} />
          </>
        }
      >
        entry point {entryPointNames[c.entry_point] ?? c.entry_point}, {absolute(new Date(c.start))}, {bytes(c.bytes_in)}
      </Step>
      {checks.map((g, i) => (
        <Step key={g.name} mark={i < stop ? 'done' : i === stop ? 'bad' : 'none'} title={g.name}>
          {i < stop ? g.passed : i === stop ? `Refused${c.reason ? `: ${c.reason}` : '.'}` : 'Not reached.'}
        </Step>
      ))}
      {retried.map((f, i) => (
        <Step key={f.at_ns} mark="bad" title={`Attempt ${i + 1} failed`}>
          {f.code}, after {span(f.took_ns)}; retried, because the tool had not run or is safe to repeat
        </Step>
      ))}
      {!refused && (
        <Step
          mark={c.status === 'success' ? 'done' : running ? 'open' : 'bad'}
          title={running ? `${c.server} is running` : c.status === 'success' ? `${c.server} answered` : `${c.server}: ${c.status}`}
        >
          {running
            ? ''
            : [c.reason || ends[c.status], `after ${span(c.duration_ns)}, with ${bytes(c.bytes_out ?? 0)}`].filter(Boolean).join(' · ')}
        </Step>
      )}
    </ol>
  );
}

const icons: Record<Mark, ReactNode> = {
  done: <Check size={12} strokeWidth={3} />,
  bad: <X size={12} strokeWidth={3} />,
  open: '…',
  none: <Minus size={12} />,
};

function Step({ mark, title, children }: { mark: Mark; title: ReactNode; children?: ReactNode }) {
  return (
    <li>
      <span className={`mark ${mark === 'done' || mark === 'bad' ? mark : ''}`}>{icons[mark]}</span>
      <span className={`grow ${mark === 'none' ? 'soft' : ''}`}>
        <span style={{ fontWeight: 550 }}>{title}</span>
        <span className="small soft wrap" style={{ display: 'block' }}>
          {children}
        </span>
      </span>
    </li>
  );
}

// CallTiming shows where the time of a call went.
export function CallTiming({ c }: { c: Call }) {
  const all = spans(c);
  const end = c.duration_ns ?? 0;
  if (all.length === 0)
    return (
      <p className="soft">
        {c.status === 'running'
          ? 'The call is running.'
          : isRefused(c)
            ? 'The call was refused before it reached a server.'
            : 'Not stored for this call.'}
      </p>
    );
  return (
    <ol className="waterfall">
      {all.map((s) => (
        <li key={`${s.name} ${s.from}`}>
          <span className="small cut">{s.name}</span>
          <span className="tiny soft num">{span(s.to - s.from)}</span>
          <span className="water">
            <i className={s.failed ? 'bad' : ''} style={{ left: `${(s.from / end) * 100}%`, width: `${((s.to - s.from) / end) * 100}%` }} />
          </span>
        </li>
      ))}
    </ol>
  );
}
