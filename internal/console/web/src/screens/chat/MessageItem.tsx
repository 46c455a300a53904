import { memo } from 'react';
import { Ago, Tag } from '../../parts/elements';
import { Markdown } from '../../parts/Markdown';
import { type ApprovalState, CallCard } from './CallCard';
import type { ShownMessage } from './room';
import { SurfacePlace } from './SurfacePlace';

// MessageItem is one message with the calls that were made for it. What the same one
// says next in the same run stands under one name.
export const MessageItem = memo(function MessageItem({
  m,
  mine,
  goesOn,
  members,
  judge,
  open,
  replaced,
  offer,
  writing,
  past,
  found,
}: {
  m: ShownMessage;
  mine: boolean;
  goesOn: boolean;
  members: readonly string[];
  judge: ApprovalState | undefined;
  open: boolean; // its Apps are opened at once
  replaced: boolean; // what its agent shows takes their place
  offer: (text: string) => void;
  writing: Readonly<Record<string, string>> | undefined;
  past: string; // ids of its surfaces that were shown anew since, a line each
  found: boolean;
}) {
  if (m.author.kind === 'system')
    return (
      <p id={`m-${m.id}`} className="said-system small soft">
        {m.text} <Ago at={m.at} />
      </p>
    );
  return (
    <article
      id={`m-${m.id}`}
      className={`said ${m.author.kind} ${mine ? 'mine' : ''} ${goesOn ? 'on' : ''} ${m.aside ? 'aside' : ''} ${found ? 'found' : ''}`}
      aria-label={`Message from ${m.author.name}`}
      aria-busy={m.live}
    >
      {!goesOn && (
        <header>
          <span className="face" data-kind={m.author.kind} aria-hidden>
            {m.author.name.slice(0, 1).toUpperCase()}
          </span>
          <b className="cut">{m.author.name}</b>
          {m.author.kind === 'agent' && (
            <Tag title={m.aside ? 'An answer to another agent, not to the room' : ''}>{m.aside ? 'agent, internal' : 'agent'}</Tag>
          )}
          <span className="tiny soft">
            <Ago at={m.at} />
          </span>
        </header>
      )}
      <div className="said-body">
        {m.cut && <span className="soft small">… </span>}
        {m.text && <Markdown text={m.text} members={members} />}
        {m.live && <span className="caret" aria-hidden />}
        {m.calls.map((c) => (
          <CallCard
            key={c.id}
            call={c}
            agent={m.author.name}
            judge={judge}
            open={open}
            replaced={replaced}
            offer={offer}
            writing={writing?.[c.id]}
          />
        ))}
        {m.surfaces.map((s) => (
          <SurfacePlace key={s.id} surface={s} agent={m.author.name} message={m.id} past={past.split('\n').includes(s.id)} />
        ))}
        {m.outcome && <p className="said-outcome small">{m.outcome}</p>}
      </div>
    </article>
  );
});
