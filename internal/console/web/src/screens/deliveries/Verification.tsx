import type { Schemas } from '../../api/client';
import { proofs } from '../../parts/chain';
import { Copy, Tag, type Tone } from '../../parts/elements';

const states: Record<Schemas['Verification']['state'], { tone: Tone; name: string; about: string }> = {
  pending: { tone: 'act', name: 'not fetched yet', about: 'The file is fetched with the next attempt.' },
  proved: { tone: 'good', name: 'verified', about: 'The file matches its hash.' },
  unproved: { tone: 'warn', name: 'not verified', about: 'The file was sent without proof, because the trigger does not require one.' },
  left_out: { tone: 'warn', name: 'not sent', about: 'The file could not be verified, so the call was made without it.' },
  missing: { tone: 'warn', name: 'missing', about: 'The file could not be fetched, so the call was made without it.' },
  refused: { tone: 'bad', name: 'refused', about: 'The file does not match its hash, so nothing was sent.' },
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
          <code className="wrap">{v.uri}</code> <Copy value={v.uri} label="Copy the URI of the file" />
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
