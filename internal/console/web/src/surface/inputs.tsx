import '@mantine/core/styles/Radio.css';
import '@mantine/core/styles/Slider.css';
import { Checkbox, PasswordInput, Radio, Slider as Rail, Textarea, TextInput } from '@mantine/core';
import { useId, useState } from 'react';
import { asNumber, asText, isRecord } from './data';
import { number } from './formats';
import { type Place, useBound, useProps } from './stage';
import { faultOf, matches, textOf } from './values';

// What a person fills in. It changes the surface's data at once; the agent hears
// of it with the next button.

// useChecked says what is wrong with a value, once somebody was at it.
function useChecked(b: Place['b']) {
  const { world } = useProps(b);
  const [touched, setTouched] = useState(false);
  const fault = faultOf(b.of.checks, world);
  return { fault: touched ? fault : '', touch: () => setTouched(true), touched };
}

export function TextField({ b }: Place) {
  const { text, word, label } = useProps(b);
  const [value, set] = useBound(b);
  const { fault, touch, touched } = useChecked(b);
  const now = asText(value);
  const pattern = word('validationRegexp');
  const wrong = fault || (touched && pattern && now && !matches(now, pattern) ? 'This value has the wrong format.' : '');
  const variant = word('variant');
  const shared = {
    label: text('label') || label || 'Text',
    value: now,
    error: wrong || undefined,
    onBlur: touch,
    onChange: (e: { currentTarget: { value: string } }) => set(e.currentTarget.value),
  };
  if (variant === 'longText') return <Textarea autosize minRows={3} maxRows={10} {...shared} />;
  if (variant === 'obscured') return <PasswordInput autoComplete="off" {...shared} />;
  return <TextInput {...(variant === 'number' ? { inputMode: 'decimal' as const, type: 'number' } : {})} autoComplete="off" {...shared} />;
}

export function CheckBox({ b }: Place) {
  const { text } = useProps(b);
  const [value, set] = useBound(b);
  const { fault, touch } = useChecked(b);
  return (
    <Checkbox
      label={text('label')}
      checked={value === true}
      error={fault || undefined}
      onBlur={touch}
      onChange={(e) => set(e.currentTarget.checked)}
    />
  );
}

const mostChoices = 200;

export function ChoicePicker({ b }: Place) {
  const { text, word, world, label } = useProps(b);
  const [value, set] = useBound(b);
  const { fault, touch } = useChecked(b);
  const [filter, setFilter] = useState('');
  const chosen = Array.isArray(value) ? value.map(asText) : asText(value) ? [asText(value)] : [];
  const several = word('variant') === 'multipleSelection';
  const options = (Array.isArray(b.of.options) ? b.of.options : [])
    .filter(isRecord)
    .slice(0, mostChoices)
    .map((o) => ({ value: asText(o.value), label: textOf(o.label, world) }))
    .filter((o) => o.label.toLowerCase().includes(filter.toLowerCase()));
  const name = text('label') || label || 'Choose';
  const toggle = (v: string) => {
    touch();
    if (!several) set([v]);
    else set(chosen.includes(v) ? chosen.filter((c) => c !== v) : [...chosen, v]);
  };
  return (
    <fieldset className="sf-choices">
      <legend>{name}</legend>
      {b.of.filterable === true && (
        <TextInput
          size="xs"
          aria-label={`Filter: ${name}`}
          placeholder="Filter"
          value={filter}
          onChange={(e) => setFilter(e.currentTarget.value)}
        />
      )}
      {word('displayStyle') === 'chips' ? (
        <div className="sf-chips">
          {options.map((o) => (
            <button key={o.value} type="button" className="sf-chip" aria-pressed={chosen.includes(o.value)} onClick={() => toggle(o.value)}>
              {o.label}
            </button>
          ))}
        </div>
      ) : several ? (
        options.map((o) => <Checkbox key={o.value} label={o.label} checked={chosen.includes(o.value)} onChange={() => toggle(o.value)} />)
      ) : (
        <Radio.Group value={chosen[0] ?? ''} onChange={toggle} aria-label={name}>
          <div className="sf-column">
            {options.map((o) => (
              <Radio key={o.value} value={o.value} label={o.label} />
            ))}
          </div>
        </Radio.Group>
      )}
      {fault && <p className="small called-fault">{fault}</p>}
    </fieldset>
  );
}

export function Slider({ b }: Place) {
  const { text, label } = useProps(b);
  const [value, set] = useBound(b);
  const id = useId();
  const min = asNumber(b.of.min) ?? 0;
  const max = asNumber(b.of.max) ?? 100;
  const now = Math.min(Math.max(asNumber(value) ?? min, min), max);
  const name = text('label') || label || 'Amount';
  return (
    <div className="sf-slider">
      <span className="row small" id={id}>
        <span className="grow">{name}</span>
        <b className="num">{number(now)}</b>
      </span>
      <Rail min={min} max={max} step={max - min <= 2 ? 0.01 : 1} value={now} label={null} thumbLabel={name} onChange={set} />
    </div>
  );
}

export function DateTimeInput({ b }: Place) {
  const { text, label, value: prop } = useProps(b);
  const [value, set] = useBound(b);
  const { fault, touch } = useChecked(b);
  const time = b.of.enableTime === true;
  const day = b.of.enableDate === true || !time;
  const type = day && time ? 'datetime-local' : day ? 'date' : 'time';
  const cut = (v: unknown) => fitting(asText(v), type);
  return (
    <TextInput
      type={type}
      label={text('label') || label || (day ? 'Date' : 'Time')}
      value={cut(value)}
      min={cut(prop('min')) || undefined}
      max={cut(prop('max')) || undefined}
      error={fault || undefined}
      onBlur={touch}
      onChange={(e) => set(e.currentTarget.value)}
    />
  );
}

// fitting is the part of a time in ISO 8601 that a field of a kind takes.
function fitting(v: string, type: string): string {
  const [day = '', clock = ''] = v.includes('T') ? v.split('T') : v.includes(':') ? ['', v] : [v, ''];
  const short = clock.slice(0, 5);
  if (type === 'date') return day;
  if (type === 'time') return short;
  return day ? `${day}T${short || '00:00'}` : '';
}
