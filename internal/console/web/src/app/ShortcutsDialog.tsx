import { Modal, Switch } from '@mantine/core';
import { elsewhere, type Shortcut } from './shortcuts';
import { useShortcutsOn } from './useShortcuts';

// ShortcutsDialog lists what keys do.
export default function ShortcutsDialog({ table, close }: { table: readonly Shortcut[]; close: () => void }) {
  const [isOn, setOn] = useShortcutsOn();
  const screens = table.filter((s) => s.path);
  return (
    <Modal opened onClose={close} title="Keyboard shortcuts" size="lg">
      <div className="shortcuts">
        <div>
          <Keys name="Everywhere" list={[...elsewhere, ...table.filter((s) => !s.path)]} />
          <Switch
            mt="md"
            label="Use shortcuts without Ctrl or ⌘"
            description="They do nothing while you type or a dialog is open."
            checked={isOn}
            onChange={(e) => setOn(e.currentTarget.checked)}
          />
        </div>
        <Keys name="Go to a screen" list={screens} />
      </div>
    </Modal>
  );
}

function Keys({ name, list }: { name: string; list: readonly Shortcut[] }) {
  return (
    <section>
      <h3>{name}</h3>
      <dl>
        {list.map((s) => (
          <div key={s.keys.join(' ')}>
            <dt>{s.name}</dt>
            <dd>
              {s.keys.map((k, i) => (
                <span key={`${i} ${k}`}>
                  {i > 0 && <span className="tiny soft"> then </span>}
                  <kbd>{k}</kbd>
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
