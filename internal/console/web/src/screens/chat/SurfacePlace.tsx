import { Button } from '@mantine/core';
import { History } from 'lucide-react';
import { createContext, lazy, Suspense, useCallback, useContext, useState } from 'react';
import { Loading } from '../../parts/states';
import type { SurfaceAction } from '../../surface/actions';
import type { Problem, Surface as Sent } from '../../surface/tree';

const Surface = lazy(() => import('../../surface/Surface'));

// What a room does for the surfaces in it.
export interface Hosting {
  busy: boolean;
  tell: (agent: string, deed: SurfaceAction) => void;
  report: (message: string, surface: string, problems: Problem[]) => void;
}

export const SurfaceHost = createContext<Hosting>({ busy: true, tell: () => undefined, report: () => undefined });

// SurfacePlace is where a surface stands in a conversation. One that was shown
// anew since is put away: it is one thing, and its newest state is below.
export function SurfacePlace({ surface, agent, message, past }: { surface: Sent; agent: string; message: string; past: boolean }) {
  const host = useContext(SurfaceHost);
  const [open, setOpen] = useState(false);
  const { tell, report } = host;
  const tellIt = useCallback((d: SurfaceAction) => tell(agent, d), [tell, agent]);
  const reportIt = useCallback((p: Problem[]) => report(message, surface.id, p), [report, message, surface.id]);
  if (past && !open)
    return (
      <Button className="sf-earlier" size="compact-xs" variant="subtle" leftSection={<History size={13} />} onClick={() => setOpen(true)}>
        Show previous version
      </Button>
    );
  return (
    <Suspense fallback={<Loading rows={2} />}>
      <Surface surface={surface} agent={agent} busy={host.busy} tell={tellIt} report={reportIt} />
    </Suspense>
  );
}
