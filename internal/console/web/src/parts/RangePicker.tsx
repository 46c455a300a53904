import { Button, NativeSelect, SegmentedControl, TextInput } from '@mantine/core';
import { Pause, Play } from 'lucide-react';
import { fromLocal, ranges, toLocal } from './range';
import type { RangeChoice } from './useRange';

const choices = [...ranges.map((r) => ({ value: r.key, label: r.label })), { value: 'custom', label: 'Custom' }];
const named = [...ranges.map((r) => ({ value: r.key, label: r.name })), { value: 'custom', label: 'Custom range' }];

// RangePicker chooses the time range of all charts of a screen. Its state is in the address.
export function RangePicker({ choice }: { choice: RangeChoice }) {
  const { range, choose, zoom, follow } = choice;
  const custom = range.key === 'custom';
  return (
    <div className="range">
      <SegmentedControl aria-label="Time range" className="wide" size="xs" value={range.key} onChange={choose} data={choices} />
      <NativeSelect
        aria-label="Time range"
        className="narrow grow"
        value={range.key}
        onChange={(e) => choose(e.currentTarget.value)}
        data={named}
      />
      <Button
        size="compact-sm"
        variant={range.live ? 'light' : 'default'}
        leftSection={range.live ? <Pause size={13} aria-hidden /> : <Play size={13} aria-hidden />}
        aria-pressed={range.live}
        title={range.live ? 'New calls appear as they end. Select to pause.' : 'Show new calls as they end'}
        onClick={() => follow(!range.live)}
      >
        Live
      </Button>
      {custom && (
        <div className="row custom">
          <TextInput
            size="xs"
            type="datetime-local"
            aria-label="From"
            value={toLocal(range.from)}
            max={toLocal(range.to)}
            onChange={(e) => {
              const from = fromLocal(e.currentTarget.value);
              if (from && Date.parse(from) < range.to) zoom(Date.parse(from), range.to, true);
            }}
          />
          <span className="soft small">to</span>
          <TextInput
            size="xs"
            type="datetime-local"
            aria-label="To"
            value={toLocal(range.to)}
            min={toLocal(range.from)}
            onChange={(e) => {
              const to = fromLocal(e.currentTarget.value);
              if (to && Date.parse(to) > range.from) zoom(range.from, Date.parse(to), true);
            }}
          />
        </div>
      )}
    </div>
  );
}
