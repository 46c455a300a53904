import { Button } from '@mantine/core';
import { CircleSlash, Inbox } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Failure } from '../api/client';
import { consoleActions } from './consoleActions';
import { Copy } from './elements';

// What is shown in place of content: while it comes, when there is none, and
// when it cannot be had.

export function Loading({ page = false, rows = 4 }: { page?: boolean; rows?: number }) {
  return (
    <div className={page ? 'screen pad' : 'pad'} role="status" aria-label="Loading">
      <div className="stack">
        {page && <div className="bone" style={{ height: '1.75rem', width: '11rem' }} />}
        {Array.from({ length: rows }, (_, i) => (
          <div key={i} className="bone" style={{ height: '1.25rem', width: `${92 - ((i * 13) % 40)}%` }} />
        ))}
      </div>
    </div>
  );
}

export function Empty({ title, children, icon, action }: { title: string; children?: ReactNode; icon?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      {icon ?? <Inbox size={28} strokeWidth={1.5} aria-hidden />}
      <h3>{title}</h3>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

const causes: Record<string, string> = {
  unauthenticated: 'You are not signed in',
  denied: 'Not allowed',
  not_found: 'Not found',
  invalid: 'Not valid',
  conflict: 'Conflict',
  precondition: 'Someone else changed this',
  limited: 'Limit reached',
  too_large: 'Too large',
  timeout: 'No answer in time',
  canceled: 'Cancelled',
  unreachable: 'Unreachable',
  upstream: 'The server failed',
  unavailable: 'Unavailable',
  internal: 'Internal error',
};

const remedies: Record<string, string> = {
  denied: 'Ask an admin for a role with this permission.',
  limited: 'Wait a moment and try again.',
  timeout: 'Try again. The page of the server shows its state.',
  unreachable: 'Check that it is running, then try again.',
  upstream: 'The page of the server shows its last errors.',
  unavailable: 'Try again in a moment.',
  internal: 'See the log of this instance.',
};

export function ErrorCard({ error, retry, title }: { error: unknown; retry?: () => void; title?: string }) {
  const failure = error instanceof Failure ? error : null;
  const problem = failure?.problem ?? { code: 'internal', detail: error instanceof Error ? error.message : String(error) };
  const report = JSON.stringify({ request: failure?.request, request_id: failure?.id, ...problem }, null, 2);
  const remedy = problem.hint || remedies[problem.code];
  const actions = consoleActions(`${problem.detail}\n${problem.hint ?? ''}`);
  return (
    <section className="fault" role="alert">
      <div className="row">
        <CircleSlash size={16} color="var(--bad)" aria-hidden />
        <h3 className="grow">{title ?? causes[problem.code] ?? 'The request failed'}</h3>
        <Copy value={report} label="Copy the report" />
        {retry && (
          <Button size="compact-sm" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </div>
      <p className="wrap" style={{ marginTop: '0.25rem' }}>
        {problem.detail}
      </p>
      {problem.errors && problem.errors.length > 0 && (
        <ul className="small wrap" style={{ margin: '0.375rem 0 0', paddingLeft: '1.125rem' }}>
          {problem.errors.map((e, i) => (
            <li key={i}>
              {e.pointer && <code>{e.pointer}</code>} {e.message}
            </li>
          ))}
        </ul>
      )}
      <dl>
        {(remedy || actions.length > 0) && (
          <>
            <dt>What to do</dt>
            <dd>
              {actions.length > 0 && (
                <span className="row actions">
                  {actions.map((a) => (
                    <Link key={a.to} href={a.to} className="link">
                      {a.name}
                    </Link>
                  ))}
                </span>
              )}
              {remedy}
            </dd>
          </>
        )}
        {problem.step && (
          <>
            <dt>Step</dt>
            <dd>{problem.step}</dd>
          </>
        )}
        <dt>Code</dt>
        <dd>
          <code>{problem.code}</code>
          {problem.status && <span className="soft"> · HTTP {problem.status}</span>}
        </dd>
        {failure && (
          <>
            <dt>Request</dt>
            <dd>
              <code>{failure.request}</code>
              {failure.id && (
                <span className="soft">
                  {' '}
                  · <code>{failure.id}</code>
                </span>
              )}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

// QueryContent draws what a question led to.
export function QueryContent<T>({
  query,
  children,
  rows,
}: {
  query: { data: T | undefined; error: unknown; isPending: boolean; refetch: () => unknown };
  children: (data: T) => ReactNode;
  rows?: number;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error)
    return (
      <div className="pad">
        <ErrorCard error={query.error} retry={() => query.refetch()} />
      </div>
    );
  return <Loading rows={rows ?? 4} />;
}
