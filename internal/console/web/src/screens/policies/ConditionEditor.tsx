import { Button } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { PolicyProblem } from '../../api/policies';
import { type Completion, completionsAt, fixOf, type Mark, type Member, markOf, partsOf, variables } from '../../parts/condition';
import { messageOf, type Phase } from '../../parts/policy';
import './policies.css';

const mostShown = 8; // problems

// ConditionEditor is a field for a condition in CEL. It completes what is typed, marks what is
// wrong at its place, and applies suggestions. checked is the text that the problems are about.
export function ConditionEditor({
  value,
  change,
  phase,
  args,
  problems,
  checked,
  state,
  focused,
}: {
  value: string;
  change: (v: string) => void;
  phase: Phase;
  args: Member[];
  problems: readonly PolicyProblem[];
  checked: string;
  state?: ReactNode;
  focused?: () => void;
}) {
  const id = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  const anchor = useRef<HTMLSpanElement>(null);
  const caret = useRef<Mark | null>(null);
  const [opened, setOpened] = useState<{ at: number; asked: boolean } | null>(null);
  const [active, setActive] = useState(0);
  const [corner, setCorner] = useState({ left: 0, top: 0 });
  const known = useMemo(() => variables(phase, args), [phase, args]);
  const found = opened ? completionsAt(value, opened.at, known, opened.asked) : undefined;
  const options = found?.options ?? [];
  const chosen = options[Math.min(active, options.length - 1)];
  const groups = groupProblems(problems);
  const current = checked === value;
  const marks = current ? groups.map((g) => markOf(value, g.problem)) : [];

  // What was inserted or selected here has its caret once the text is drawn.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the text
  useLayoutEffect(() => {
    if (!caret.current) return;
    box.current?.focus();
    box.current?.setSelectionRange(caret.current.from, caret.current.to);
    caret.current = null;
  }, [value]);
  const start = found?.from;
  useLayoutEffect(() => {
    if (start !== undefined && anchor.current) setCorner({ left: anchor.current.offsetLeft, top: anchor.current.offsetTop });
  }, [start]);

  const write = (next: string, from: number, to = from) => {
    caret.current = { from, to };
    setOpened(null);
    change(next);
  };
  const accept = (o: Completion) => {
    if (!found) return;
    write(value.slice(0, found.from) + o.insert + value.slice(found.to), found.from + o.insert.length - o.back);
  };
  const keys = (e: KeyboardEvent<HTMLTextAreaElement>) => {
    if (e.key === ' ' && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      setOpened({ at: e.currentTarget.selectionStart, asked: true });
      setActive(0);
      return;
    }
    if (!found || !chosen) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (move) {
      e.preventDefault();
      setActive((Math.min(active, options.length - 1) + move + options.length) % options.length);
    } else if ((e.key === 'Enter' || (e.key === 'Tab' && !e.shiftKey)) && !e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      accept(chosen);
    } else if (e.key === 'Escape') {
      e.preventDefault();
      e.stopPropagation();
      setOpened(null);
    }
  };
  const listId = `${id}-list`;
  const optionId = (i: number) => `${id}-option-${i}`;
  const problemsId = `${id}-problems`;
  const parts = partsOf(value, found ? [...marks, { from: found.from, to: found.from }] : marks);
  return (
    <div className="field">
      <label htmlFor={id}>Condition</label>
      <p className="help" id={`${id}-help`}>
        An expression in CEL that is true or false. Without one, the rule matches every call of its target. Ctrl-Space completes.
      </p>
      <div className="condition">
        <pre aria-hidden>
          {parts.map((p) => (
            <span key={p.from}>
              {found?.from === p.from && <span ref={anchor} />}
              {p.marked ? <mark>{p.text}</mark> : p.text}
            </span>
          ))}
          {found?.from === value.length && <span ref={anchor} />}
          {'\n'}
        </pre>
        <textarea
          ref={box}
          id={id}
          value={value}
          rows={3}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          placeholder={'has(args.amount) && args.amount > 1000'}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={found ? listId : undefined}
          aria-activedescendant={found ? optionId(options.indexOf(chosen as Completion)) : undefined}
          aria-invalid={groups.length > 0}
          aria-describedby={groups.length > 0 ? `${id}-help ${problemsId}` : `${id}-help`}
          onFocus={focused}
          onBlur={() => setOpened(null)}
          onKeyDown={keys}
          onSelect={(e) => {
            // A caret that was moved leaves the word that was being completed.
            if (opened && e.currentTarget.selectionStart !== opened.at) setOpened(null);
          }}
          onChange={(e) => {
            change(e.currentTarget.value);
            setActive(0);
            const pasted = (e.nativeEvent as InputEvent).inputType === 'insertFromPaste';
            setOpened(pasted ? null : { at: e.currentTarget.selectionStart, asked: false });
          }}
        />
        {found && (
          <div
            id={listId}
            role="listbox"
            aria-label="Completions"
            className="completions"
            style={{ left: `max(0px, min(${corner.left}px, 100% - 22rem))`, top: `calc(${corner.top}px + 1.7em)` }}
          >
            {options.map((o, i) => (
              <button
                key={o.label}
                id={optionId(i)}
                type="button"
                role="option"
                tabIndex={-1}
                aria-selected={o === chosen}
                ref={o === chosen ? showOption : undefined}
                onMouseDown={(e) => e.preventDefault()} // the text keeps the focus
                onClick={() => accept(o)}
              >
                <code>{o.label}</code> {o.type && <span className="tiny soft">{o.type}</span>}
                <span className="tiny soft cut">{o.about}</span>
              </button>
            ))}
          </div>
        )}
      </div>
      <div id={problemsId} aria-live="polite" className="stack tight">
        {groups.slice(0, mostShown).map((g) => {
          const fix = current ? fixOf(value, g.problem) : undefined;
          const mark = markOf(checked, g.problem);
          return (
            <div key={g.key} className="condition-problem">
              <button
                type="button"
                className="link"
                onClick={() => {
                  box.current?.focus();
                  box.current?.setSelectionRange(mark.from, mark.to);
                }}
              >
                Line {g.problem.line}, column {g.problem.column}
              </button>
              : {messageOf(g.problem)}
              {g.tools.length > 0 && <span className="soft"> ({listTools(g.tools)})</span>}{' '}
              {fix && (
                <Button size="compact-xs" variant="default" onClick={() => write(fix.text, fix.text.length)}>
                  {fix.name}
                </Button>
              )}
            </div>
          );
        })}
        {groups.length > mostShown && <p className="tiny soft">{groups.length - mostShown} more problems</p>}
        {groups.length === 0 && state}
      </div>
    </div>
  );
}

const showOption = (e: HTMLElement | null) => e?.scrollIntoView({ block: 'nearest' });

interface ProblemGroup {
  key: string;
  problem: PolicyProblem;
  tools: string[];
}

// groupProblems puts a problem that several tools have together.
export function groupProblems(all: readonly PolicyProblem[]): ProblemGroup[] {
  const out: ProblemGroup[] = [];
  for (const problem of all) {
    const key = `${problem.line}:${problem.column} ${problem.message}`;
    let group = out.find((g) => g.key === key);
    if (!group) {
      group = { key, problem, tools: [] };
      out.push(group);
    }
    if (problem.tool) group.tools.push(problem.tool);
  }
  return out;
}

const listTools = (tools: readonly string[]): string =>
  tools.length > 3 ? `${tools.slice(0, 2).join(', ')} and ${tools.length - 2} more tools` : tools.join(', ');
