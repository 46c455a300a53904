import { lazy, Suspense, useState } from 'react';
import type { Me } from '../api/client';

const AccountMenu = lazy(() => import('./AccountMenu'));

// Account is the button at the end of the menu. Its own menu is loaded when it is first used.
export function Account({ me, openHelp }: { me: Me; openHelp: () => void }) {
  const [used, setUsed] = useState(false);
  const name = me.name || me.subject;
  const role = me.person?.role ?? (me.scopes.includes('admin') ? 'admin' : me.issuer);
  const label = (
    <>
      <span className="face" aria-hidden>
        {name.slice(0, 1).toUpperCase()}
      </span>
      <span className="grow">
        <span className="cut" style={{ display: 'block', fontWeight: 550 }}>
          {name}
        </span>
        <span className="tiny soft cut" style={{ display: 'block' }}>
          {role}
          {me.tenant !== 'default' && ` in ${me.tenant}`}
        </span>
      </span>
    </>
  );
  const button = (
    <button type="button" className="whoami" aria-haspopup="menu" onClick={() => setUsed(true)}>
      {label}
    </button>
  );
  if (!used) return button;
  return (
    <Suspense fallback={button}>
      <AccountMenu label={label} openHelp={openHelp} />
    </Suspense>
  );
}
