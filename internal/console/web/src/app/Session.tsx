import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { type Me, onEnded } from '../api/client';
import { client } from '../api/data';

const SessionDialog = lazy(() => import('./SessionDialog'));

// here is where a person is, to come back to after signing in.
const here = () => window.location.pathname + window.location.search;
const signIn = (next: string) => `/login?${new URLSearchParams({ next })}`;

// Session notices when the session has ended. At the first look there is
// nothing to lose, and the sign-in page follows; later the screen stays as it
// is, and the person signs in beside it.
export function Session({ first = false, children }: { first?: boolean; children: ReactNode }) {
  const [ended, setEnded] = useState(false);

  useEffect(() => {
    if (first) return;
    return onEnded(() => setEnded(true));
  }, [first]);

  useEffect(() => {
    if (!first) return;
    const state = client.getQueryState<Me, { problem?: { code: string } }>(['me']);
    if (state?.error?.problem?.code === 'unauthenticated') window.location.replace(signIn(here()));
  }, [first]);

  const look = useCallback(async () => {
    const res = await fetch('/api/v1/me').catch(() => null);
    if (!res?.ok) return;
    setEnded(false);
    await client.invalidateQueries();
  }, []);

  useEffect(() => {
    if (!ended) return;
    const timer = setInterval(look, 2500);
    window.addEventListener('focus', look);
    return () => {
      clearInterval(timer);
      window.removeEventListener('focus', look);
    };
  }, [ended, look]);

  return (
    <>
      {children}
      {ended && (
        <Suspense>
          <SessionDialog signIn={signIn('/')} look={look} />
        </Suspense>
      )}
    </>
  );
}
