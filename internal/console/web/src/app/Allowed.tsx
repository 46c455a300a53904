import { Lock } from 'lucide-react';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { Me } from '../api/client';
import { Head, Panel } from '../parts/elements';
import { placeOf } from './navigation';
import { can } from './permissions';

// Allowed shows a screen only to users whose role carries its permission: others would get
// a page of refusals.
export function Allowed({ me, children }: { me: Me; children: ReactNode }) {
  const [location] = useLocation();
  const place = placeOf(location);
  if (!place?.needs || can(me, place.needs)) return children;
  return (
    <>
      <Head title={place.name} />
      <Panel>
        <div className="empty">
          <Lock size={28} strokeWidth={1.5} aria-hidden />
          <h2>Your role does not include this page</h2>
          <p>
            It requires the permission <code>{place.needs}</code>. Ask an admin for a role with it.
          </p>
        </div>
      </Panel>
    </>
  );
}
