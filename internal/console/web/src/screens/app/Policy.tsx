import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { send } from '../../api/client';
import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { Domain } from '../../apps/AppView';
import type { App, View } from '../../apps/api';
import type { RunningApp } from '../../apps/runningApp';
import type { Snapshot } from '../../apps/state';
import { Ago, Copy, Panel, Tag } from '../../parts/elements';
import { bytes } from '../../parts/format';
import { Code } from '../../parts/Json';
import { ErrorCard } from '../../parts/states';
import { toast } from '../../parts/toasts';
import { useFollowed } from './Log';

// Policy is what the page may load and reach, and what it tried beyond that.
export function Policy({ a, s, running, again }: { a: App; s: Snapshot; running: RunningApp; again: () => void }) {
  const view = s.view;
  const stopped = useFollowed(running).filter((e) => e.kind === 'refused');
  if (!view) return null;
  const declared = Object.entries(view.csp ?? {}).filter(([, list]) => Array.isArray(list) && list.length > 0);
  return (
    <div className="stack">
      <Approval a={a} view={view} again={again} />
      <Panel title="Isolation" pad>
        <dl className="facts">
          <dt>Origin</dt>
          <dd>{view.isolation === 'opaque' ? <span>opaque, without storage</span> : <code className="wrap">{view.origin}</code>}</dd>
          {view.domain && (
            <>
              <dt>Declared domain</dt>
              <dd>
                <Domain domain={view.domain} />
              </dd>
            </>
          )}
          <dt>Page</dt>
          <dd className="row plain">
            <code className="cut">{view.digest}</code> <Copy value={view.digest ?? ''} label="Copy the digest" />{' '}
            <span className="soft">{bytes(view.bytes)}</span>
          </dd>
          <dt>Requested</dt>
          <dd>{(view.permissions ?? []).join(', ') || <span className="soft">none</span>}</dd>
          <dt>Granted</dt>
          <dd>{s.granted.join(', ') || <span className="soft">none</span>}</dd>
          {declared.map(([kind, list]) => (
            <div key={kind} style={{ display: 'contents' }}>
              <dt>{kind}</dt>
              <dd className="wrap">{(list as string[]).join(' ')}</dd>
            </div>
          ))}
          {(view.refused_sources ?? []).length > 0 && (
            <>
              <dt>Refused</dt>
              <dd className="wrap" style={{ color: 'var(--bad)' }}>
                {view.refused_sources?.join(' ')}
              </dd>
            </>
          )}
        </dl>
      </Panel>
      <Panel title="Content-Security-Policy" pad>
        <Code label="Copy the policy">{(view.policy ?? '').split('; ').join(';\n')}</Code>
      </Panel>
      <Panel title={`Blocked ${stopped.length || ''}`} pad>
        {stopped.length === 0 ? (
          <p className="soft">The App tried nothing that is not allowed.</p>
        ) : (
          <ul className="small wrap" style={{ margin: 0, paddingLeft: '1.125rem' }}>
            {stopped
              .slice(-50)
              .toReversed()
              .map((e) => (
                <li key={e.n}>
                  {e.method && <code>{e.method}</code>} {String(e.body)}
                </li>
              ))}
          </ul>
        )}
      </Panel>
    </div>
  );
}

function Approval({ a, view, again }: { a: App; view: View; again: () => void }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const path = `/apps/${encodeURIComponent(a.name)}/approval`;
  const set = useMutation({
    mutationFn: (yes: boolean): Promise<unknown> => (yes ? send('PUT', path, { digest: view.digest }) : send('DELETE', path)),
    onSuccess: async (_, yes) => {
      if (!yes) toast('The approval is revoked', () => set.mutateAsync(true));
      await cache.invalidateQueries({ queryKey: ['apps'] });
      again();
    },
  });
  const may = can(me, 'servers:write');
  const { state, by, at } = view.approval;
  return (
    <Panel
      title={view.profile === 'compatible' ? 'Compatible policy' : 'Strict policy'}
      acts={state === 'changed' ? <Tag tone="warn">page changed</Tag> : state === 'approved' ? <Tag tone="good">approved</Tag> : undefined}
      pad
    >
      <div className="stack">
        <p className="soft">
          {state === 'approved'
            ? 'The App may use eval, because this version of the page was approved. A changed page runs under the strict policy again.'
            : state === 'changed'
              ? 'Another version of the page was approved. This version runs under the strict policy until it is approved.'
              : 'The App may not use eval. Some Apps, such as maps and 3D scenes, require it. If you trust this page, approve it.'}
        </p>
        {by && (
          <p className="small soft">
            Approved by {by}, <Ago at={at} />
          </p>
        )}
        {may && (
          <div className="acts">
            {state !== 'approved' && (
              <Button variant="default" loading={set.isPending} onClick={() => set.mutate(true)}>
                Approve this page for eval
              </Button>
            )}
            {state !== 'none' && (
              <Button variant="default" loading={set.isPending} onClick={() => set.mutate(false)}>
                Revoke the approval
              </Button>
            )}
          </div>
        )}
        {set.error && <ErrorCard error={set.error} />}
      </div>
    </Panel>
  );
}
