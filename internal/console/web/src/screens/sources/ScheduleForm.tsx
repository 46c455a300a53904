import { Button, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../../api/client';
import type { Schedule } from '../../api/happenings';
import { Known } from '../../parts/Known';
import { ErrorCard } from '../../parts/states';
import { asJSON } from '../../parts/typed';
import { isName, nameRule } from './styles';
import { Times } from './Times';

type Body = Pick<Schedule, 'name' | 'cron' | 'timezone' | 'type' | 'agent' | 'disabled'> & { data?: unknown };

export const put = ({ name, cron, timezone, type, agent, disabled, data }: Body) =>
  send<Schedule>('PUT', `/schedules/${name}`, { cron, timezone, type, agent, disabled, data });

const usual = ['@hourly', '@daily', '0 9 * * mon-fri', '*/15 * * * *', '0 3 1 * *'];

// ScheduleForm makes a schedule, or changes one. The next times are shown while it
// is written.
export function ScheduleForm({ had, close }: { had: Schedule | undefined; close: () => void }) {
  const cache = useQueryClient();
  const [name, setName] = useState(had?.name ?? '');
  const [cron, setCron] = useState(had?.cron ?? '@daily');
  const [timezone, setTimezone] = useState(had?.timezone ?? '');
  const [type, setType] = useState(had?.type ?? '');
  const [agent, setAgent] = useState(had?.agent ?? '');
  const [data, setData] = useState(had?.data === undefined ? '' : JSON.stringify(had.data, null, 2));
  const [asked] = useDebouncedValue({ cron, timezone }, 300);
  const parsed = asJSON(data);
  const save = useMutation({
    mutationFn: () => put({ name, cron, timezone, type, agent, disabled: had?.disabled ?? false, data: parsed.value }),
    onSuccess: close,
    onSettled: () => cache.invalidateQueries({ queryKey: ['schedules'] }),
  });
  const fits = isName(name) && cron.trim() !== '' && type !== '' && !parsed.problem;
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        if (fits) save.mutate();
      }}
    >
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <TextInput
          className="grow"
          style={{ minWidth: '9rem' }}
          label="Name"
          placeholder="nightly"
          required
          readOnly={had !== undefined}
          data-autofocus
          value={name}
          error={name && !isName(name) ? nameRule : undefined}
          onChange={(e) => setName(e.currentTarget.value)}
        />
        <TextInput
          className="grow"
          style={{ minWidth: '9rem' }}
          label="Type"
          placeholder="report.due"
          required
          value={type}
          onChange={(e) => setType(e.currentTarget.value)}
        />
        <TextInput
          className="grow"
          style={{ minWidth: '9rem' }}
          label="Agent"
          value={agent}
          onChange={(e) => setAgent(e.currentTarget.value)}
        />
      </div>
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <Known
          className="grow mono"
          style={{ minWidth: '9rem' }}
          label="When"
          description="Minute, hour, day, month, weekday."
          required
          value={cron}
          change={setCron}
          known={usual}
        />
        <Known
          className="grow"
          style={{ minWidth: '9rem' }}
          label="Timezone"
          description="UTC where it is not said."
          placeholder="UTC"
          value={timezone}
          change={setTimezone}
          known={[Intl.DateTimeFormat().resolvedOptions().timeZone]}
        />
      </div>
      <Times {...asked} limit={5} />
      <div className="editor">
        <Textarea
          label="Data"
          description="JSON that each of its events has."
          autosize
          minRows={2}
          maxRows={12}
          spellCheck={false}
          value={data}
          error={parsed.problem}
          onChange={(e) => setData(e.currentTarget.value)}
        />
      </div>
      {save.error && <ErrorCard error={save.error} />}
      <div className="acts">
        <Button type="submit" disabled={!fits} loading={save.isPending}>
          {had ? 'Keep the changes' : 'Add it'}
        </Button>
      </div>
    </form>
  );
}
