import { Modal as Dialog, UnstyledButton } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Tabs as TabList } from '../parts/elements';
import { isRecord } from './data';
import { Instead, type Place, useProps, useStage } from './stage';
import type { Branch } from './tree';
import { textOf } from './values';

// How components stand: beside, above and within each other.

// Cells gives each child the share of the room that it asks for.
function Cells({ of }: { of: Branch[] }): ReactNode {
  const { draw } = useStage();
  return of.map((c) =>
    typeof c.of.weight === 'number' ? (
      <div key={c.key} className="sf-share" style={{ flexGrow: c.of.weight }}>
        {draw(c)}
      </div>
    ) : (
      draw(c)
    ),
  );
}

// named makes a group of what somebody gave a name.
const named = (label: string | undefined) => (label ? { role: 'group', 'aria-label': label } : {});

function Laid({ b, className }: Place & { className: string }) {
  const { word, label } = useProps(b);
  return (
    <div className={className} data-justify={word('justify') || undefined} data-align={word('align') || undefined} {...named(label)}>
      <Cells of={b.children} />
    </div>
  );
}

export const Row = ({ b }: Place) => <Laid b={b} className="sf-row" />;
export const Column = ({ b }: Place) => <Laid b={b} className="sf-column" />;

export function List({ b }: Place) {
  const { word, label, stage } = useProps(b);
  return (
    <ul className="sf-list" data-direction={word('direction') || undefined} data-align={word('align') || undefined} aria-label={label}>
      {b.children.map((c) => (
        <li key={c.key}>{stage.draw(c)}</li>
      ))}
    </ul>
  );
}

export function Card({ b }: Place) {
  const { stage, label } = useProps(b);
  return (
    <div className="sf-card" {...named(label)}>
      {b.child && stage.draw(b.child)}
    </div>
  );
}

export function Divider({ b }: Place) {
  return b.of.axis === 'vertical' ? <span className="sf-upright" aria-hidden /> : <hr className="sf-divider" />;
}

export function Tabs({ b }: Place) {
  const { world, stage, label } = useProps(b);
  const [now, setNow] = useState('0');
  const tabs = Array.isArray(b.of.tabs) ? b.of.tabs : [];
  // A tab whose component is not there has no place among the children.
  const at = Math.min(Number(now), b.children.length - 1);
  const shown = b.children[at];
  return (
    <div className="sf-tabs">
      <TabList
        label={label ?? 'Parts'}
        now={String(at)}
        choose={setNow}
        tabs={b.children.map((_, i) => [String(i), textOf(isRecord(tabs[i]) ? tabs[i].title : '', world) || `Part ${i + 1}`])}
      />
      <div role="tabpanel">{shown && stage.draw(shown)}</div>
    </div>
  );
}

export function Modal({ b }: Place) {
  const { stage, label } = useProps(b);
  const [open, setOpen] = useState(false);
  const show = () => setOpen(true);
  return (
    <>
      {b.trigger &&
        (b.trigger.of.component === 'Button' ? (
          <Instead.Provider value={show}>{stage.draw(b.trigger)}</Instead.Provider>
        ) : (
          <UnstyledButton className="sf-press" onClick={show}>
            {stage.draw(b.trigger)}
          </UnstyledButton>
        ))}
      <Dialog opened={open} onClose={() => setOpen(false)} title={label ?? 'More'}>
        <div className="surface">{b.content && stage.draw(b.content)}</div>
      </Dialog>
    </>
  );
}
