import { Checkbox } from '@mantine/core';

// Consent shows a command word by word: what runs is exactly this.
export function Consent({
  words,
  env,
  checked,
  setChecked,
}: {
  words: string[];
  env?: Record<string, string>;
  checked: boolean;
  setChecked: (c: boolean) => void;
}) {
  return (
    <div className="stack tight">
      <div className="code">
        <pre>
          {words.map((w, i) => (
            <span key={i}>
              <span className="soft">{i === 0 ? 'program  ' : `word ${String(i).padEnd(4)}`}</span>
              {w === '' ? '(empty)' : w}
              {'\n'}
            </span>
          ))}
          {Object.keys(env ?? {}).map((k) => (
            <span key={k}>
              <span className="soft">env{'      '}</span>
              {k}=•••{'\n'}
            </span>
          ))}
        </pre>
      </div>
      <Checkbox
        label="I want this instance to run exactly this command, with the permissions of the instance."
        checked={checked}
        onChange={(e) => setChecked(e.currentTarget.checked)}
      />
    </div>
  );
}
