import { NativeSelect, SegmentedControl, Switch } from '@mantine/core';
import { asItIs, type ContextOverrides } from '../../apps/context';
import { type Optional, optional } from '../../apps/state';
import { Panel } from '../../parts/elements';

const locales = ['en-US', 'de-DE', 'fr-FR', 'ja-JP', 'ar-EG', 'he-IL', 'hi-IN', 'zh-CN'];
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Asia/Kolkata', 'Pacific/Auckland'];

// AppEnvironment are switched while the App runs: it is told at once.
export function AppEnvironment({ value, set }: { value: ContextOverrides; set: (s: ContextOverrides) => void }) {
  return (
    <Panel title="Host context" pad>
      <div className="stack">
        <Choice
          label="Theme"
          value={value.theme}
          data={[
            ['', 'Default'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
          set={(theme) => set({ ...value, theme: theme as ContextOverrides['theme'] })}
        />
        <Choice
          label="Device"
          value={value.device}
          data={[
            ['', 'Default'],
            ['tablet', 'Tablet'],
            ['phone', 'Phone'],
          ]}
          set={(device) => set({ ...value, device: device as ContextOverrides['device'] })}
        />
        <NativeSelect label="Language" value={value.locale} onChange={(e) => set({ ...value, locale: e.currentTarget.value })}>
          <option value="">{navigator.language} (default)</option>
          {locales.map((l) => (
            <option key={l}>{l}</option>
          ))}
        </NativeSelect>
        <NativeSelect label="Time zone" value={value.timeZone} onChange={(e) => set({ ...value, timeZone: e.currentTarget.value })}>
          <option value="">{Intl.DateTimeFormat().resolvedOptions().timeZone} (default)</option>
          {zones.map((z) => (
            <option key={z}>{z}</option>
          ))}
        </NativeSelect>
        {JSON.stringify(value) !== JSON.stringify(asItIs) && (
          <button type="button" className="plainly link small" onClick={() => set(asItIs)}>
            Reset
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
  openLinks: 'Open links, after you confirm',
  downloadFile: 'Save files, after you confirm',
  serverTools: 'Call tools of its server',
  serverResources: 'Read resources of its server',
  logging: 'Write to the log',
  message: 'Send messages in your name, shown to you',
  updateModelContext: 'Update the model context, shown to you',
};

// Capabilities are announced when the App begins: it is opened anew.
export function Capabilities({ off, set }: { off: Optional[]; set: (off: Optional[]) => void }) {
  return (
    <Panel title="Announced capabilities" pad>
      <div className="stack">
        <p className="soft">Disabled capabilities are not announced and are refused. A change reloads the App.</p>
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
