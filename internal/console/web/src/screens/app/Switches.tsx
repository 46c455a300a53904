import { NativeSelect, SegmentedControl, Switch } from '@mantine/core';
import { asItIs, type Switches } from '../../apps/context';
import { type Optional, optional } from '../../apps/state';
import { Panel } from '../../parts/bits';

const locales = ['en-US', 'de-DE', 'fr-FR', 'ja-JP', 'ar-EG', 'he-IL', 'hi-IN', 'zh-CN'];
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Asia/Kolkata', 'Pacific/Auckland'];

// Surroundings are switched while the App runs: it is told at once.
export function Surroundings({ value, set }: { value: Switches; set: (s: Switches) => void }) {
  return (
    <Panel title="Its surroundings" pad>
      <div className="stack">
        <Choice
          label="Colours"
          value={value.theme}
          data={[
            ['', 'As here'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
          set={(theme) => set({ ...value, theme: theme as Switches['theme'] })}
        />
        <Choice
          label="Device"
          value={value.device}
          data={[
            ['', 'As here'],
            ['tablet', 'Tablet'],
            ['phone', 'Phone'],
          ]}
          set={(device) => set({ ...value, device: device as Switches['device'] })}
        />
        <NativeSelect label="Language" value={value.locale} onChange={(e) => set({ ...value, locale: e.currentTarget.value })}>
          <option value="">{navigator.language}, as here</option>
          {locales.map((l) => (
            <option key={l}>{l}</option>
          ))}
        </NativeSelect>
        <NativeSelect label="Time zone" value={value.timeZone} onChange={(e) => set({ ...value, timeZone: e.currentTarget.value })}>
          <option value="">{Intl.DateTimeFormat().resolvedOptions().timeZone}, as here</option>
          {zones.map((z) => (
            <option key={z}>{z}</option>
          ))}
        </NativeSelect>
        {JSON.stringify(value) !== JSON.stringify(asItIs) && (
          <button type="button" className="plainly link small" onClick={() => set(asItIs)}>
            All as here
          </button>
        )}
      </div>
    </Panel>
  );
}

function Choice({ label, value, data, set }: { label: string; value: string; data: [string, string][]; set: (v: string) => void }) {
  return (
    <div className="field">
      <span className="label">{label}</span>
      <SegmentedControl
        size="xs"
        aria-label={label}
        value={value || 'usual'}
        data={data.map(([v, name]) => ({ value: v || 'usual', label: name }))}
        onChange={(v) => set(v === 'usual' ? '' : v)}
      />
    </div>
  );
}

const names: Record<Optional, string> = {
  openLinks: 'Links, after a question to you',
  downloadFile: 'Files to save, after a question to you',
  serverTools: 'Calls of its own server’s tools',
  serverResources: 'Reading its own server’s resources',
  logging: 'Lines for the log',
  message: 'Words in your name, shown to you',
  updateModelContext: 'Its state for a model, shown to you',
};

// Capabilities are announced when the App begins: it is opened anew.
export function Capabilities({ off, set }: { off: Optional[]; set: (off: Optional[]) => void }) {
  return (
    <Panel title="What the App is told that it may use" pad>
      <div className="stack">
        <p className="soft">What is off is not announced, and refused where it is tried. The App is opened anew.</p>
        {optional.map((name) => (
          <Switch
            key={name}
            label={names[name]}
            description={name}
            checked={!off.includes(name)}
            onChange={(e) => set(e.currentTarget.checked ? off.filter((o) => o !== name) : [...off, name])}
          />
        ))}
      </div>
    </Panel>
  );
}
