import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

// useParam is one part of the state that the address holds. What is the usual
// value does not stand there.
export function useParam(name: string, usual = ''): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string) =>
      setParams(
        (now) => {
          const next = new URLSearchParams(now);
          if (value === usual) next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: true },
      ),
    [name, usual, setParams],
  );
  return [params.get(name) ?? usual, set];
}
