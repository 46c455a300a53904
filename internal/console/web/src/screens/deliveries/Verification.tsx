import type { Schemas } from '../../api/client';
import { Copy, Tag, type Tone } from '../../parts/bits';
import { proofs } from '../../parts/chain';

const states: Record<Schemas['Verification']['state'], { tone: Tone; name: string; about: string }> = {
  pending: { tone: 'act', name: 'not had yet', about: 'It is fetched with the next attempt.' },
  proved: { tone: 'good', name: 'verified', about: 'It is the file that was meant.' },
  unproved: { tone: 'warn', name: 'not verified', about: 'It went along, since the trigger does not ask for a proof.' },
  left_out: { tone: 'warn', name: 'left out', about: 'Nothing proves it, so the call was made without it.' },
  missing: { tone: 'warn', name: 'missing', about: 'It could not be fetched, so the call was made without it.' },
  refused: { tone: 'bad', name: 'refused', about: 'It is not the file that was meant, so nothing was sent.' },
};

// Verification says whether the file that belongs to an event is the one that was
// meant.
export function Verification({ v }: { v: Schemas['Verification'] }) {
  const s = states[v.state];
  return (
    <div className="stack">
      <p className="row" style={{ flexWrap: 'wrap' }}>
        <Tag tone={s.tone}>{s.name}</Tag> {v.proof && <Tag tone="good">{proofs[v.proof]?.name ?? v.proof}</Tag>}
        <span className="small soft">{(v.proof && proofs[v.proof]?.about) || s.about}</span>
      </p>
      {v.why && <p className="small wrap">{v.why}</p>}
      <dl className="facts">
        <dt>File</dt>
        <dd className="row">
          <code className="wrap">{v.uri}</code> <Copy value={v.uri} label="Copy the file's address" />
        </dd>
        {v.hash && (
          <>
            <dt>Hash</dt>
            <dd>
              <code className="wrap">{v.hash}</code>
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}
