import { Button } from '@mantine/core';
import { Download, ShieldCheck, ShieldX } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Failure, type Problem } from '../../api/client';
import { stream } from '../../api/stream';
import { Panel } from '../../parts/elements';
import { bytes, count } from '../../parts/format';
import { ErrorCard } from '../../parts/states';

interface Progress {
  records: number;
  bytes: number;
  total: number;
}
interface Report {
  node: string;
  records: number;
  first: number;
  last: number;
  ok: boolean;
  bad?: { segment?: string; line?: number; seq: number; reason: string };
  notes?: string[];
}

// Verify reads the whole journal of this node against its chain of hashes and
// what was signed, and names the first record that does not hold.
export function Verify() {
  const [progress, setProgress] = useState<Progress | null>(null);
  const [report, setReport] = useState<Report | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const go = async () => {
    const own = new AbortController();
    control.current = own;
    setBusy(true);
    setReport(null);
    setError(null);
    setProgress(null);
    try {
      let ended = false;
      await stream('POST', '/audit/verify', undefined, own.signal, (e) => {
        const data: unknown = JSON.parse(e.data);
        if (e.name === 'progress') setProgress(data as Progress);
        if (e.name === 'error') throw new Failure(data as Problem, 'POST /audit/verify');
        if (e.name === 'report') {
          ended = true;
          setReport(data as Report);
        }
      });
      if (!ended) throw new Failure({ code: 'unreachable', detail: 'The response ended before the last record.' }, 'POST /audit/verify');
    } catch (err) {
      if (!own.signal.aborted) setError(err);
    }
    setBusy(false);
  };

  return (
    <Panel
      title="Journal"
      acts={
        <span className="acts">
          <Button size="compact-sm" variant="default" component="a" href="/api/v1/audit/export" leftSection={<Download size={13} />}>
            Export
          </Button>
          {busy ? (
            <Button size="compact-sm" variant="default" onClick={() => control.current?.abort()}>
              Stop
            </Button>
          ) : (
            <Button size="compact-sm" onClick={go}>
              Verify
            </Button>
          )}
        </span>
      }
      pad
    >
      <div className="stack tight" aria-live="polite" aria-busy={busy}>
        {busy ? (
          <>
            <progress
              className="progress"
              aria-label="Verification progress"
              max={Math.max(1, progress?.total ?? 1)}
              value={progress?.bytes ?? 0}
            />
            <p className="small soft num">
              {progress
                ? `${count(progress.records)} valid records so far · ${bytes(progress.bytes)} of ${bytes(progress.total)}`
                : 'Reading from the first record…'}
            </p>
          </>
        ) : report?.ok ? (
          <p className="row">
            <ShieldCheck size={18} color="var(--good)" aria-hidden />
            <b>{count(report.records)} records verified</b>
            <span className="soft">
              {report.first} to {report.last}, replica <code>{report.node}</code>
            </span>
          </p>
        ) : report?.bad ? (
          <>
            <p className="row" role="alert">
              <ShieldX size={18} color="var(--bad)" aria-hidden />
              <b>Record {report.bad.seq} is invalid</b>
              <span className="soft">
                {report.bad.segment && (
                  <code>
                    {report.bad.segment}
                    {report.bad.line ? `:${report.bad.line}` : ''}
                  </code>
                )}
              </span>
            </p>
            <p className="wrap">{report.bad.reason}</p>
            <p className="small soft">
              The {count(Math.max(0, report.records))} records before it are valid. Keep a copy of the data directory.
            </p>
          </>
        ) : (
          !error && (
            <p className="small soft">
              Every call is recorded before the server receives it, and each record is chained to the previous one. Verification checks all
              records. Export the journal to another machine to detect even changes by someone who has the signing key.
            </p>
          )
        )}
        {report?.notes?.map((n) => (
          <p key={n} className="small soft wrap">
            {n}
          </p>
        ))}
        {error !== null && <ErrorCard error={error} retry={go} />}
      </div>
    </Panel>
  );
}
