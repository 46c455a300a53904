import { Button, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { send } from '../../api/client';
import type { Schedule } from '../../api/events';
import { faultsOf, unplaced } from '../../parts/faults';
import { parseJSON } from '../../parts/parseJSON';
import { SuggestInput } from '../../parts/SuggestInput';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';
import { NextTimes } from './NextTimes';
import { isName, nameRule } from './styles';

type Body = Pick<Schedule, 'name' | 'cron' | 'timezone' | 'type' | 'agent' | 'disabled' | 'updated_at'> & { data?: unknown };

// put replaces a schedule that was read.
export const put = ({ name, cron, timezone, type, agent, disabled, data, updated_at }: Body) =>
  send<Schedule>('PUT', `/schedules/${name}`, { cron, timezone, type, agent, disabled, data }, { match: updated_at });

const fieldsOf = (s: Partial<Schedule>) => ({
  name: s.name ?? '',
  cron: s.cron ?? '@daily',
  timezone: s.timezone ?? '',
  type: s.type ?? '',
  agent: s.agent ?? '',
  data: s.data === undefined ? '' : JSON.stringify(s.data, null, 2),
});

const usual = ['@hourly', '@daily', '0 9 * * mon-fri', '*/15 * * * *', '0 3 1 * *'];

// ScheduleForm makes a schedule, or changes one. The next times are shown while it
// is written.
export function ScheduleForm({ had, close }: { had: Schedule | undefined; close: () => void }) {
  const cache = useQueryClient();
  const form = useEdits<Partial<Schedule>, ReturnType<typeof fieldsOf>>(had ?? {}, fieldsOf);
  const { edit } = form;
  const { name, cron, timezone, type, agent, data } = form.fields;
  const [asked] = useDebouncedValue({ cron, timezone }, 300);
  const parsed = parseJSON(data);
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PUT', `/schedules/${name}`],
    bodyOf: ({ cron, timezone, type, agent, data }, stored) => ({
      cron,
      timezone,
      type,
      agent,
      disabled: stored.disabled ?? false,
      data: parseJSON(data).value,
    }),
    done: () => {
      close();
      return cache.invalidateQueries({ queryKey: ['schedules'] });
    },
  });
  const faults = faultsOf(saving.error, ['name', 'cron', 'timezone', 'type', 'agent', 'data']);
  const fits = isName(name) && cron.trim() !== '' && type !== '' && !parsed.problem;
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        if (fits) saving.save();
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
          error={name && !isName(name) ? nameRule : faults.name}
          onChange={(e) => edit({ name: e.currentTarget.value })}
        />
        <TextInput
          className="grow"
          style={{ minWidth: '9rem' }}
          label="Type"
          placeholder="report.due"
          required
          value={type}
          onChange={(e) => edit({ type: e.currentTarget.value })}
        />
        <TextInput
          className="grow"
          style={{ minWidth: '9rem' }}
          label="Agent"
          value={agent}
          onChange={(e) => edit({ agent: e.currentTarget.value })}
        />
      </div>
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <SuggestInput
          className="grow mono"
          style={{ minWidth: '9rem' }}
          label="Cron schedule"
          description="Minute, hour, day, month, weekday."
          required
          value={cron}
          change={(cron) => edit({ cron })}
          known={usual}
          error={faults.cron}
        />
        <SuggestInput
          className="grow"
          style={{ minWidth: '9rem' }}
          label="Time zone"
          description="UTC by default."
          placeholder="UTC"
          value={timezone}
          change={(timezone) => edit({ timezone })}
          known={[Intl.DateTimeFormat().resolvedOptions().timeZone]}
          error={faults.timezone}
        />
      </div>
      <NextTimes {...asked} limit={5} />
      <div className="editor">
        <Textarea
          label="Data"
          description="JSON that each event gets."
          autosize
          minRows={2}
          maxRows={12}
          spellCheck={false}
          value={data}
          error={parsed.problem}
          onChange={(e) => edit({ data: e.currentTarget.value })}
        />
      </div>
      {unplaced(saving.error, faults) ? <ErrorCard error={saving.error} /> : null}
      {saving.dialog}
      <div className="acts">
        <Button type="submit" disabled={!fits} loading={saving.busy}>
          {had ? 'Save' : 'Add'}
        </Button>
      </div>
    </form>
  );
}
