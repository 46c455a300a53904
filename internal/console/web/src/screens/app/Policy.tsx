import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { send } from '../../api/client';
import { useMe } from '../../api/data';
import { can } from '../../app/may';
import { Domain } from '../../apps/AppView';
import type { App, View } from '../../apps/api';
import type { Running } from '../../apps/running';
import type { Snapshot } from '../../apps/state';
import { Ago, Copy, Panel, Tag } from '../../parts/bits';
import { bytes } from '../../parts/format';
import { Code } from '../../parts/Json';
import { ErrorCard } from '../../parts/states';
import { useFollowed } from './Log';

// Policy is what the page may load and reach, and what it tried beyond that.
export function Policy({ a, s, running, again }: { a: App; s: Snapshot; running: Running; again: () => void }) {
  const view = s.view;
  const stopped = useFollowed(running).filter((e) => e.kind === 'refused');
  if (!view) return null;
  const declared = Object.entries(view.csp ?? {}).filter(([, list]) => Array.isArray(list) && list.length > 0);
  return (
    <div className="stack">
      <Approval a={a} view={view} again={again} />
      <Panel title="Where it runs" pad>
        <dl className="facts">
          <dt>Origin</dt>
          <dd>
            {view.isolation === 'opaque' ? <span>none of its own: it has no storage</span> : <code className="wrap">{view.origin}</code>}
          </dd>
          {view.domain && (
            <>
              <dt>Calls itself</dt>
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
          <dt>Asks for</dt>
          <dd>{(view.permissions ?? []).join(', ') || <span className="soft">nothing</span>}</dd>
          <dt>Granted</dt>
          <dd>{s.granted.join(', ') || <span className="soft">nothing</span>}</dd>
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
      <Panel title="Policy, as it is sent" pad>
        <Code label="Copy the policy">{(view.policy ?? '').split('; ').join(';\n')}</Code>
      </Panel>
      <Panel title={`Stopped ${stopped.length || ''}`} pad>
        {stopped.length === 0 ? (
          <p className="soft">It has tried nothing that was not allowed.</p>
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
    mutationFn: (yes: boolean) => (yes ? send('PUT', path, { digest: view.digest }) : send('DELETE', path)),
    onSuccess: async () => {
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
            ? 'It may make code of text (eval), because somebody looked at exactly this page and approved it. Another page would run strict again.'
            : state === 'changed'
              ? 'Somebody approved another page. This one runs strict until it is approved as well.'
              : 'It may not make code of text (eval). Some Apps, of maps and 3D scenes, cannot do without: if you trust this page, approve it as it is.'}
        </p>
        {by && (
          <p className="small soft">
            by {by}, <Ago at={at} />
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
                Back to strict
              </Button>
            )}
          </div>
        )}
        {set.error && <ErrorCard error={set.error} />}
      </div>
    </Panel>
  );
}
