import { ActionIcon, Button, Popover, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Bookmark, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useKept } from '../../parts/store';

// Examples are arguments that a person keeps under a name, in their browser.
export function Examples({ of, value, load }: { of: string; value: unknown; load: (args: unknown) => void }) {
  const [saved, setSaved] = useKept<Record<string, unknown>>(localStorage, `junctor-saved ${of}`, {});
  const [opened, { toggle, close }] = useDisclosure();
  const [name, setName] = useState('');
  const names = Object.keys(saved);
  const forget = (n: string) => {
    const { [n]: _, ...rest } = saved;
    setSaved(rest);
  };
  return (
    <Popover opened={opened} onChange={close} position="bottom-end" width="18rem" trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon aria-label={`Saved examples${names.length ? `: ${names.length}` : ''}`} onClick={toggle}>
          <Bookmark size={15} fill={names.length ? 'currentColor' : 'none'} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p="xs" aria-label="Saved examples">
        <div className="stack">
          <form
            className="row plain"
            onSubmit={(e) => {
              e.preventDefault();
              setSaved({ ...saved, [name || `Example ${names.length + 1}`]: value });
              setName('');
            }}
          >
            <TextInput
              size="xs"
              className="grow"
              placeholder={`Example ${names.length + 1}`}
              aria-label="Name of the example"
              value={name}
              onChange={(e) => setName(e.currentTarget.value)}
            />
            <Button size="xs" type="submit">
              Save
            </Button>
          </form>
          {names.length === 0 && <p className="small soft">Save these arguments in this browser to use them again.</p>}
          {names.map((n) => (
            <div key={n} className="row plain">
              <button
                type="button"
                className="plainly grow"
                onClick={() => {
                  load(saved[n]);
                  close();
                }}
              >
                <span className="small cut" style={{ display: 'block', fontWeight: 550 }}>
                  {n}
                </span>
                <span className="tiny soft mono cut" style={{ display: 'block' }}>
                  {JSON.stringify(saved[n])}
                </span>
              </button>
              <ActionIcon size="sm" aria-label={`Delete ${n}`} onClick={() => forget(n)}>
                <Trash2 size={13} />
              </ActionIcon>
            </div>
          ))}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
