import { Switch } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ServerDetail, send } from '../../api/client';
import { Panel } from '../../parts/elements';
import { ErrorCard } from '../../parts/states';

// ViewSwitch says whether the server's tools that have no App of their own are
// given one.
export function ViewSwitch({ s, may }: { s: ServerDetail; may: boolean }) {
  const cache = useQueryClient();
  const turn = useMutation({
    mutationFn: (views: 'on' | 'off') => send('PATCH', `/servers/${s.id}`, { views }),
    onSuccess: () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]),
  });
  return (
    <Panel title="Generated Apps" pad>
      <div className="stack">
        <Switch
          label="Generate Apps for its tools"
          description="Tools without their own App get a generated one: table, details, chart, map, and a form for the next call."
          checked={s.mode === 'builtin' ? s.views === 'on' : s.views !== 'off'}
          disabled={!may || turn.isPending || !!s.declared}
          onChange={(e) => turn.mutate(e.currentTarget.checked ? 'on' : 'off')}
        />
        {turn.error && <ErrorCard error={turn.error} />}
      </div>
    </Panel>
  );
}
