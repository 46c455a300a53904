import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Failure, send } from '../../api/client';
import type { PolicyProblem } from '../../api/policies';
import { checkableRule, type Draft, fieldOf, problemsIn, type Wrong } from '../../parts/policy';

const pause = 300;

export interface Checked {
  condition: PolicyProblem[];
  wrong: Wrong;
  warnings: PolicyProblem[];
  when: string; // the condition that was checked
  done: boolean; // it is the one of the form
}

// useCheck checks a rule a moment after somebody stopped writing. Nothing is stored.
export function useCheck(draft: Draft, enabled: boolean): Checked {
  const now = JSON.stringify(checkableRule(draft));
  const [asked] = useDebouncedValue(now, pause);
  const check = useQuery({
    queryKey: ['policy-check', asked],
    queryFn: async ({ signal }) => {
      const rule = JSON.parse(asked);
      const { problems } = await send<{ problems: PolicyProblem[] }>('POST', '/policies/check', { rules: [rule] }, { signal });
      return { problems, when: String(rule.when ?? ''), of: asked };
    },
    enabled,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  });
  const found = problemsIn(check.data?.problems ?? []);
  const refused = check.error instanceof Failure ? wrongOf(check.error) : {};
  return {
    ...found,
    wrong: { ...found.wrong, ...refused },
    when: draft.when.trimEnd() === check.data?.when ? draft.when : (check.data?.when ?? ''),
    done: check.data?.of === now && !check.error,
  };
}

// wrongOf are the fields that a refusal is about, apart from the condition.
export function wrongOf(error: Failure): Wrong {
  const { policy, errors, code } = error.problem;
  if (code !== 'invalid') return {};
  if (policy?.length) return problemsIn(policy).wrong;
  const wrong: Wrong = {};
  for (const e of errors ?? []) {
    const field = fieldOf({ rule: '', field: e.pointer, message: e.pointer ? '' : e.message });
    wrong[field] ??= e.message;
  }
  if (Object.keys(wrong).length === 0) wrong[fieldOf({ rule: '', message: error.message })] = error.message;
  return wrong;
}
