import { Check, X } from 'lucide-react';
import type { Schemas } from '../../api/client';
import { Ago, Tag } from '../../parts/elements';
import { span } from '../../parts/format';
import { Code, Json } from '../../parts/Json';
import { useParam } from '../../parts/url';

type Trace = Schemas['Trace'];
type Step = Schemas['TraceStep'];

const names: Record<Trace['what'], string> = {
  begin: 'Login started',
  finish: 'Login completed',
  refresh: 'Token renewed',
  token: 'Client token requested',
  logout: 'Logged out',
  call: 'Call with a new token',
};

// Traces are attempts to log in, to renew and to leave, newest first. Which one
// is open is in the address.
export function Traces({ all }: { all: Trace[] }) {
  const [open, setOpen] = useParam('trace');
  const sorted = [...all].sort((a, b) => (a.at < b.at ? 1 : -1));
  return (
    <div>
      {sorted.map((t) => {
        const shown = open === t.id || (open === '' && t === sorted[0]);
        return (
          <section key={t.id} className="trace">
            <button type="button" aria-expanded={shown} onClick={() => setOpen(shown ? 'none' : t.id)}>
              <Mark ok={t.ok} />
              <span className="grow">
                <b>{names[t.what] ?? t.what}</b> <span className="small soft wrap">{t.verdict}</span>
              </span>
              {t.user && <Tag>{t.user}</Tag>}
              <span className="small soft">
                <Ago at={t.at} />
              </span>
            </button>
            {shown && (
              <div className="pad stack">
                {t.remedy && (
                  <p>
                    <b>What to do</b> {t.remedy}
                  </p>
                )}
                <ol className="steps">
                  {t.steps?.map((s, i) => (
                    <OneStep key={i} s={s} />
                  ))}
                </ol>
              </div>
            )}
          </section>
        );
      })}
    </div>
  );
}

const Mark = ({ ok }: { ok: boolean }) => (
  <span className={`mark ${ok ? 'done' : 'bad'}`}>{ok ? <Check size={12} strokeWidth={3} /> : <X size={12} strokeWidth={3} />}</span>
);

function OneStep({ s }: { s: Step }) {
  const sent = s.sent && Object.keys(s.sent).length > 0;
  return (
    <li>
      <Mark ok={s.ok} />
      <div className="grow stack tight">
        <div className="row">
          <b className="grow">{s.name}</b>
          {s.status ? <Tag tone={s.status < 400 ? 'good' : s.ok ? '' : 'bad'}>HTTP {s.status}</Tag> : null}
          {s.took_ms ? <span className="tiny soft num">{span(s.took_ms * 1e6)}</span> : null}
        </div>
        {s.request && <code className="small wrap">{s.request}</code>}
        <p className="small wrap" style={s.ok ? {} : { color: 'var(--bad)' }}>
          {s.verdict}
        </p>
        {s.remedy && <p className="small soft wrap">{s.remedy}</p>}
        {(sent || s.answer) && (
          <details open={!s.ok}>
            <summary className="small soft">Request and response</summary>
            <div className="columns" style={{ marginTop: '0.375rem' }}>
              <div className="stack tight">
                <span className="tiny soft">Request</span>
                {sent ? <Json value={s.sent} label="Copy the request" /> : <p className="small soft">URL only.</p>}
              </div>
              <div className="stack tight">
                <span className="tiny soft">Response</span>
                {s.answer ? <Code label="Copy the response">{s.answer}</Code> : <p className="small soft">None.</p>}
              </div>
            </div>
          </details>
        )}
      </div>
    </li>
  );
}
