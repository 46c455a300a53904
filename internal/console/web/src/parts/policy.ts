import type { PolicyEntry, PolicyProblem, PolicyRule } from '../api/policies';

// A rule about calls as it stands in the fields of its form, and back.

export type Phase = NonNullable<PolicyRule['phase']>;
export type Verdict = PolicyRule['verdict'];
export type Mode = NonNullable<PolicyRule['mode']>;
export type Kind = NonNullable<PolicyRule['kinds']>[number];

export interface Draft {
  name: string;
  title: string;
  phase: Phase;
  kinds: Kind[];
  items: string; // patterns, one in a line
  agents: string;
  users: string;
  tenants: string;
  when: string;
  verdict: Verdict;
  message: string;
  detectors: string[];
  patterns: string; // regular expressions, one in a line
  max: string; // bytes
  filtered: boolean; // a webhook decides
  url: string;
  secret: string;
  timeout: string;
  failure: 'allow' | 'deny';
  mode: Mode;
  place: string; // '', first, last, before:NAME or after:NAME
}

export const kinds: readonly Kind[] = ['tool', 'resource', 'prompt', 'completion', 'subscription'];

export const detectors: readonly [name: string, label: string][] = [
  ['secrets', 'Keys and passwords'],
  ['jwt', 'JWT'],
  ['email', 'E-mail addresses'],
  ['phone', 'Phone numbers'],
  ['iban', 'IBANs'],
  ['card', 'Card numbers'],
];

export const phaseNames: Record<Phase, string> = { call: 'Before the call', result: 'On the result' };

export const verdictNames: Record<Verdict, string> = {
  allow: 'Allow',
  deny: 'Deny',
  ask: 'Ask a person',
  redact: 'Redact',
  cut: 'Cut',
};

export const verdictNotes: Record<Verdict, string> = {
  allow: 'Ends the search: later rules are not asked. The caller still needs the right to make the call.',
  deny: 'The call is refused, or the result is withheld.',
  ask: 'The call requires a person’s approval. Until approvals can be requested, it is refused.',
  redact: 'What the detectors find in the result is replaced.',
  cut: 'The text of the result is shortened.',
};

export const verdictsOf = (phase: Phase): Verdict[] => (phase === 'call' ? ['deny', 'ask', 'allow'] : ['redact', 'cut', 'deny']);

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((l) => l.trim())
    .filter(Boolean);
const some = (text: string): string | undefined => text.trim() || undefined;
const list = (text: string): string[] | undefined => (lines(text).length > 0 ? lines(text) : undefined);

export function draftOf(r: Partial<PolicyRule>): Draft {
  const known = new Set(detectors.map(([name]) => name));
  return {
    name: r.name ?? '',
    title: r.title ?? '',
    phase: r.phase ?? 'call',
    kinds: r.kinds?.length ? [...r.kinds] : ['tool'],
    items: (r.target?.items ?? []).join('\n'),
    agents: (r.target?.agents ?? []).join('\n'),
    users: (r.target?.users ?? []).join('\n'),
    tenants: (r.target?.tenants ?? []).join('\n'),
    when: r.when ?? '',
    verdict: r.verdict ?? 'deny',
    message: r.message ?? '',
    detectors: (r.redact ?? []).filter((d) => known.has(d)),
    patterns: (r.redact ?? [])
      .filter((d) => !known.has(d))
      .map((d) => d.replace(/^pattern:/, ''))
      .join('\n'),
    max: r.max_size ? String(r.max_size) : '',
    filtered: r.filter !== undefined,
    url: r.filter?.url ?? '',
    secret: r.filter?.secret ?? '',
    timeout: r.filter?.timeout ?? '',
    failure: r.filter?.on_failure ?? 'deny',
    mode: r.mode ?? 'enforce',
    place: '',
  };
}

export type PolicyBody = Omit<PolicyRule, 'name'>;

// bodyOf is the rule as the API takes it. What is the default is left out.
export function bodyOf(d: Draft): PolicyBody {
  const target = { items: list(d.items), agents: list(d.agents), users: list(d.users), tenants: list(d.tenants) };
  return {
    title: some(d.title),
    phase: d.phase === 'call' ? undefined : d.phase,
    kinds: d.kinds.length === 1 && d.kinds[0] === 'tool' ? undefined : kinds.filter((k) => d.kinds.includes(k)),
    target: Object.values(target).some(Boolean) ? target : undefined,
    when: d.when.trim() ? d.when.trimEnd() : undefined,
    verdict: d.verdict,
    message: some(d.message),
    redact: d.verdict === 'redact' ? [...d.detectors, ...lines(d.patterns).map((p) => `pattern:${p}`)] : undefined,
    max_size: d.verdict === 'cut' && d.max.trim() ? Number(d.max) : undefined,
    filter: d.filtered
      ? { url: d.url.trim(), secret: some(d.secret), timeout: some(d.timeout), on_failure: d.failure === 'allow' ? 'allow' : undefined }
      : undefined,
    mode: d.mode === 'enforce' ? undefined : d.mode,
  };
}

// ruleOf is a stored rule without what the API says about it.
export const ruleOf = (e: PolicyEntry): PolicyRule => ({ name: e.name, ...bodyOf(draftOf(e)) });

// checkableRule is the rule with something in place of what is missing, so that its condition
// can be checked before the form is complete.
export function checkableRule(d: Draft): PolicyRule {
  const body = bodyOf(d);
  return {
    ...body,
    name: isRuleName(d.name) ? d.name : 'new-rule',
    kinds: d.kinds.length > 0 ? body.kinds : undefined,
    redact: body.redact?.length === 0 ? ['secrets'] : body.redact,
    max_size: d.verdict === 'cut' && !((body.max_size ?? 0) > 0) ? 1 : body.max_size,
    filter: body.filter?.url ? body.filter : undefined,
  };
}

const rulePattern = /^[a-z][a-z0-9-]{0,63}$/;
export const isRuleName = (name: string): boolean => rulePattern.test(name);

export type Field = keyof Draft | 'other';
export type Wrong = Partial<Record<Field, string>>;

// wrongIn is what can be said without asking. What is empty is only missing.
export function wrongIn(d: Draft, taken: readonly string[] = []): Wrong {
  const out: Wrong = {};
  if (d.name && !isRuleName(d.name)) out.name = 'Start with a lowercase letter, then up to 63 lowercase letters, digits or hyphens.';
  else if (taken.includes(d.name)) out.name = 'Another rule has this name.';
  const odd = lines(d.items).find((p) => !p.includes('/'));
  if (odd) out.items = `Write ${odd} as server/tool, for example ${odd}/* for everything on a server.`;
  if (d.max.trim() && !/^[1-9]\d*$/.test(d.max.trim())) out.max = 'Enter a number of bytes.';
  if (d.filtered && d.url.trim() && !/^https?:\/\/./i.test(d.url.trim()))
    out.url = 'Enter an address that starts with https:// or http://.';
  if (d.message.length > 500) out.message = 'Use up to 500 characters.';
  return out;
}

export const nameless = 'Enter a name.';

// missingIn says what the form still needs, the name last: without one, all else can be tried.
export function missingIn(d: Draft): string {
  if (d.kinds.length === 0) return 'Choose at least one kind.';
  if (d.verdict === 'redact' && d.detectors.length === 0 && lines(d.patterns).length === 0) return 'Choose what is redacted.';
  if (d.verdict === 'cut' && d.max.trim() === '') return 'Enter the size to which results are cut.';
  if (d.filtered && d.url.trim() === '') return 'Enter the address of the webhook.';
  return d.name.trim() === '' ? nameless : '';
}

const signs: [RegExp, Field][] = [
  [/^name$|rule name/, 'name'],
  [/target\.items|no tool matches/, 'items'],
  [/target\.agents/, 'agents'],
  [/target\.users/, 'users'],
  [/target[./]tenants/, 'tenants'],
  [/filter[./]secret/, 'secret'],
  [/filter[./]timeout/, 'timeout'],
  [/filter/, 'url'],
  [/max_size/, 'max'],
  [/redact|pattern/, 'patterns'],
  [/^message|\bmessage is/, 'message'],
];

// fieldOf is the field that a problem is about. Those of the condition have a line.
export function fieldOf(p: PolicyProblem): Field {
  if (p.line) return 'when';
  return signs.find(([sign]) => sign.test(p.field ?? '') || sign.test(p.message))?.[1] ?? 'other';
}

// messageOf is a problem in a sentence, without the name of the rule.
export function messageOf(p: PolicyProblem): string {
  const text = p.message.replace(/^the rule "[^"]*": /, '');
  const hint = p.suggestion?.startsWith('junctor ') ? '' : p.suggestion; // commands are of no use here
  return [text.charAt(0).toUpperCase() + text.slice(1), hint].filter(Boolean).join('; ');
}

// problemsIn sorts problems by field, the warnings apart. Those of the condition stay a list.
export function problemsIn(all: readonly PolicyProblem[]): { condition: PolicyProblem[]; wrong: Wrong; warnings: PolicyProblem[] } {
  const condition = all.filter((p) => !p.warning && fieldOf(p) === 'when');
  const wrong: Wrong = {};
  for (const p of all) if (!p.warning && fieldOf(p) !== 'when') wrong[fieldOf(p)] ??= messageOf(p);
  return { condition, wrong, warnings: all.filter((p) => p.warning) };
}

// placeQuery is the place as the query of a request has it.
export function placeQuery(place: string): Record<string, string> {
  const [how = '', name = ''] = place.split(':');
  if (how === 'before' || how === 'after') return { [how]: name };
  return how === 'first' || how === 'last' ? { [how]: 'true' } : {};
}

// withRule are the stored rules with a rule in its place, as a simulation takes them. Those
// that the reader does not see whole are left out: the server adds them.
export function withRule(stored: readonly PolicyEntry[], rule: PolicyRule, place: string): PolicyRule[] {
  const all = stored.filter((e) => !e.restricted).map(ruleOf);
  const at = all.findIndex((r) => r.name === rule.name);
  if (at >= 0 && place === '') return all.map((r, i) => (i === at ? rule : r));
  const rest = all.filter((r) => r.name !== rule.name);
  const [how, name] = place.split(':');
  const anchor = rest.findIndex((r) => r.name === name);
  const to = how === 'first' ? 0 : how === 'before' && anchor >= 0 ? anchor : how === 'after' && anchor >= 0 ? anchor + 1 : rest.length;
  return [...rest.slice(0, to), rule, ...rest.slice(to)];
}

// neighbourOf is the rule that a rule changes places with when it is moved. Operators' rules
// come first, then those of the settings file: other rules stay behind them.
export function neighbourOf(all: readonly PolicyEntry[], e: PolicyEntry, step: 1 | -1): PolicyEntry | undefined {
  const other = all[all.findIndex((o) => o.name === e.name && o.restricted === e.restricted) + step];
  return other && !other.declared && !other.restricted && !!other.operators === !!e.operators ? other : undefined;
}

// matchPattern reports whether a pattern of a target matches all of a text. A * stands for any
// text.
export function matchPattern(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  if (!text.startsWith(head)) return false;
  let left = text.slice(head.length);
  const last = rest.pop() ?? '';
  for (const part of rest) {
    const at = left.indexOf(part);
    if (at < 0) return false;
    left = left.slice(at + part.length);
  }
  return left.length >= last.length && left.endsWith(last);
}

// targetsTool reports whether the patterns of a target match a tool.
export function targetsTool(items: string, tool: { server: string; name: string }): boolean {
  const patterns = lines(items);
  return (
    patterns.length === 0 ||
    patterns.some((p) => {
      const cut = p.indexOf('/');
      return cut >= 0 && matchPattern(p.slice(0, cut), tool.server) && matchPattern(p.slice(cut + 1), tool.name);
    })
  );
}

// targetOf says in a line which calls a rule is about.
export function targetOf(r: Pick<PolicyRule, 'target' | 'kinds'>): string {
  const t = r.target ?? {};
  const of = r.kinds?.length ? r.kinds.filter((k) => k !== 'tool').map((k) => `${k}s`) : [];
  return (
    [
      ...(of.length ? [[...(r.kinds?.includes('tool') ? ['tools'] : []), ...of].join(', ')] : []),
      ...(t.items ?? []),
      t.agents?.length && `agents ${t.agents.join(', ')}`,
      t.users?.length && `users ${t.users.join(', ')}`,
      t.tenants?.length && `tenants ${t.tenants.join(', ')}`,
    ]
      .filter(Boolean)
      .join(' · ') || 'every tool'
  );
}
