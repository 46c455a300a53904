import { Button, Modal } from '@mantine/core';
import { History as HistoryIcon } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { type AdminChange, useAdminChanges } from '../api/changes';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { actionName, changeEntryNames, nameOf, pageOf, valueChanges, written } from './changes';
import { Ago, Copy, Panel, Tag } from './elements';
import { NextPage } from './NextPage';
import { usePrincipalPage } from './Principal';
import { Empty, QueryContent } from './states';

// History lists the changes of one object: who changed it, when, from where, and each
// field before and after. Only admins may read it.
export function History({ object, id, bare = false }: { object: string; id: string; bare?: boolean }) {
  const pages = useAdminChanges({ object, object_id: id });
  const list = (
    <>
      <QueryContent query={{ ...pages, data: pages.all }} rows={4}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon={<HistoryIcon size={28} strokeWidth={1.5} aria-hidden />} title="No recorded changes">
              Changes that are made from now on appear here.
            </Empty>
          ) : (
            <ChangeList list={all} />
          )
        }
      </QueryContent>
      {pages.hasNextPage && (
        <div className="pad">
          <NextPage pages={pages} />
        </div>
      )}
    </>
  );
  return bare ? list : <Panel>{list}</Panel>;
}

// HistoryDialog shows the history of an object that has no page of its own.
export function HistoryDialog({ object, id, name, close }: { object: string; id: string; name: string; close: () => void }) {
  return (
    <Modal opened onClose={close} title={`History of ${name}`} size="xl" padding={0} styles={{ header: { padding: '1rem' } }}>
      <History object={object} id={id} bare />
    </Modal>
  );
}

// HistoryButton opens the history of an object that is a row of a list. Only admins have it.
export function HistoryButton({ object, id, name, size = 'compact-xs' }: { object: string; id: string; name: string; size?: string }) {
  const me = useMe().data;
  const [open, setOpen] = useState(false);
  if (!can(me, 'admin')) return null;
  return (
    <>
      <Button size={size} variant="subtle" color="gray" aria-label={`History of ${name}`} onClick={() => setOpen(true)}>
        History
      </Button>
      {open && <HistoryDialog object={object} id={id} name={name} close={() => setOpen(false)} />}
    </>
  );
}

// ChangeList shows changes; with objects, it also names what each one changed.
export const ChangeList = ({ list, objects = false }: { list: readonly AdminChange[]; objects?: boolean }) => (
  <ol className="changes" aria-label="Changes">
    {list.map((c) => (
      <Change key={c.id} c={c} named={objects} />
    ))}
  </ol>
);

const statusTones = { running: 'act', done: '', failed: 'bad', interrupted: 'warn' } as const;
const mostFields = 12;

function Change({ c, named }: { c: AdminChange; named: boolean }) {
  const [whole, setWhole] = useState(false);
  const fields = valueChanges(c.before, c.after);
  const shown = whole ? fields : fields.slice(0, mostFields);
  const page = pageOf(c.object, c.object_id);
  const name = nameOf(c.after) ?? nameOf(c.before) ?? c.object_id;
  return (
    <li>
      <p className="row">
        <b>{actionName(c.action)}</b>
        {named && name && (page ? <PageLink to={page}>{name}</PageLink> : <span className="wrap">{name}</span>)}
        {named && c.object_id && name !== c.object_id && (
          <span className="row plain small soft">
            <code>{c.object_id}</code> <Copy value={c.object_id} label="Copy the ID" />
          </span>
        )}
        {c.status !== 'done' && <Tag tone={statusTones[c.status]}>{c.status}</Tag>}
      </p>
      <p className="small soft row">
        <span title={`${c.issuer}:${c.subject}`}>
          by <Actor c={c} />
          {c.issuer !== 'user' && c.issuer !== 'local' && ` (${c.issuer})`}
          {c.client && ` through ${c.client}`}
        </span>
        <Copy value={`${c.issuer}:${c.subject}`} label="Copy the ID of the actor" />
        <Ago at={c.at} />
        <span className="wrap">
          {changeEntryNames[c.entry_point] ?? c.entry_point}
          {c.address && `, ${c.address}`}
        </span>
      </p>
      {shown.length > 0 && (
        <table className="fields">
          <thead>
            <tr>
              <th>Field</th>
              <th>Before</th>
              <th>After</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((f) => (
              <tr key={f.field}>
                <th scope="row">
                  <code>{f.field}</code>
                </th>
                <td className={f.before === undefined ? 'soft' : 'gone'}>
                  <Value v={f.before} />
                </td>
                <td className={f.after === undefined ? 'soft' : 'come'}>
                  <Value v={f.after} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {shown.length < fields.length && (
        <div>
          <Button size="compact-xs" variant="subtle" onClick={() => setWhole(true)}>
            Show {fields.length - shown.length} more fields
          </Button>
        </div>
      )}
    </li>
  );
}

// Actor names who made a change as the record has it, with a link to the page of a user.
function Actor({ c }: { c: AdminChange }) {
  const page = usePrincipalPage()(c.issuer, c.subject);
  const name = c.actor || c.subject;
  return page ? <PageLink to={page}>{name}</PageLink> : <b>{name}</b>;
}

const PageLink = ({ to, children }: { to: string; children: string }) => (
  <Link href={to} className="link wrap">
    {children}
  </Link>
);

const mostLetters = 400;

function Value({ v }: { v: unknown }) {
  const [whole, setWhole] = useState(false);
  if (v === undefined) return <>–</>;
  const text = written(v);
  const cut = !whole && text.length > mostLetters;
  return (
    <>
      <span className="mono wrap">{cut ? `${text.slice(0, mostLetters)}…` : text}</span>
      {cut && (
        <Button size="compact-xs" variant="subtle" onClick={() => setWhole(true)}>
          Show all
        </Button>
      )}
    </>
  );
}
