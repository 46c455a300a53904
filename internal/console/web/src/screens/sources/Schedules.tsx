import { Button, Menu, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CalendarClock, Plus } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { send } from '../../api/client';
import { useMe } from '../../api/data';
import { type Schedule, useSchedules } from '../../api/events';
import { can } from '../../app/permissions';
import { ActionMenu } from '../../parts/ActionMenu';
import { Ago, Panel, Tag } from '../../parts/elements';
import { HistoryButton } from '../../parts/History';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';
import { toast } from '../../parts/toasts';
import { useParam } from '../../parts/url';
import { NextTimes } from './NextTimes';
import { put, ScheduleForm } from './ScheduleForm';

export function Schedules() {
  const me = useMe().data;
  const may = can(me, 'admin');
  const schedules = useSchedules();
  const cache = useQueryClient();
  const [making, setMaking] = useParam('new');
  const [edit, setEdit] = useState<Schedule | null>(null);
  const settled = { onSettled: () => cache.invalidateQueries({ queryKey: ['schedules'] }) };
  const undo = (s: Schedule) => put({ ...s, updated_at: '' }).finally(settled.onSettled);
  const change = useMutation({
    mutationFn: (s: Schedule) => put({ ...s, disabled: !s.disabled }),
    onSuccess: (_, s) => toast(`${s.name} is ${s.disabled ? 'enabled' : 'disabled'}`, () => undo(s)),
    ...settled,
  });
  const remove = useMutation({
    mutationFn: (s: Schedule) => send('DELETE', `/schedules/${s.name}`),
    onSuccess: (_, s) => toast(`${s.name} is deleted`, () => undo(s)),
    ...settled,
  });
  const error = change.error ?? remove.error;
  const close = () => {
    setMaking('');
    setEdit(null);
  };
  return (
    <Panel
      title="Schedules"
      acts={
        may && (
          <Button size="compact-sm" variant="default" leftSection={<Plus size={13} />} onClick={() => setMaking('schedule')}>
            Add a schedule
          </Button>
        )
      }
    >
      {error && (
        <div className="pad">
          <ErrorCard error={error} />
        </div>
      )}
      <QueryContent query={schedules} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon={<CalendarClock size={28} strokeWidth={1.5} aria-hidden />} title="No schedules yet">
              A schedule makes events at fixed times. If the instance was down, one missed event is made at the start.
            </Empty>
          ) : (
            <div className="rows">
              {all.map((s) => (
                <div key={s.name} style={{ alignItems: 'flex-start' }}>
                  <span className="grow">
                    <span className="row">
                      <Link className="link" href={`/events?source=${encodeURIComponent(`schedule:${s.name}`)}`}>
                        {s.name}
                      </Link>
                      <code>{s.cron}</code> {s.timezone && <Tag>{s.timezone}</Tag>} {s.disabled && <Tag tone="warn">off</Tag>}
                      {s.declared && <Tag title={s.declared}>file</Tag>}
                    </span>
                    <span className="tiny soft" style={{ display: 'block' }}>
                      makes {s.type}
                      {s.agent && ` about ${s.agent}`}
                      {s.next_at && !s.disabled && (
                        <>
                          , next <Ago at={s.next_at} />
                        </>
                      )}
                      {s.last_at && (
                        <>
                          , last <Ago at={s.last_at} />
                        </>
                      )}
                    </span>
                  </span>
                  {!s.disabled && (
                    <span className="wide">
                      <NextTimes cron={s.cron} timezone={s.timezone ?? ''} limit={3} />
                    </span>
                  )}
                  <HistoryButton object="schedule" id={s.name} name={s.name} />
                  {may && !s.declared && (
                    <ActionMenu label={`Actions for ${s.name}`}>
                      <Menu.Item onClick={() => setEdit(s)}>Edit</Menu.Item>
                      <Menu.Item onClick={() => change.mutate(s)}>{s.disabled ? 'Enable' : 'Disable'}</Menu.Item>
                      <Menu.Item color="red" onClick={() => remove.mutate(s)}>
                        Delete
                      </Menu.Item>
                    </ActionMenu>
                  )}
                </div>
              ))}
            </div>
          )
        }
      </QueryContent>
      <Modal opened={may && (making === 'schedule' || edit !== null)} onClose={close} title={edit ? edit.name : 'Add a schedule'} size="lg">
        {(making === 'schedule' || edit) && <ScheduleForm had={edit ?? undefined} close={close} />}
      </Modal>
    </Panel>
  );
}
