import { ActionIcon } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { BookOpen, Menu as MenuIcon, Search } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useLayoutEffect, useMemo } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import type { Me } from '../api/client';
import { useChanges } from '../api/feed';
import { setAdmin } from '../api/live';
import { useNotifier } from '../parts/notifications';
import { setTitle } from '../parts/title';
import { useLeaving } from '../parts/unsaved';
import { Account } from './Account';
import { Allowed } from './Allowed';
import { docsOf, placeOf, places } from './navigation';
import { can } from './permissions';
import { ScreenMenu } from './ScreenMenu';
import { findKeys, shortcutsFor } from './shortcuts';
import { Toasts } from './Toasts';
import { useShortcuts } from './useShortcuts';

// What is not needed at first is loaded when it is opened.
const MenuDrawer = lazy(() => import('./MenuDrawer'));
const Palette = lazy(() => import('./Palette'));
const ShortcutsDialog = lazy(() => import('./ShortcutsDialog'));
const LeaveDialog = lazy(() => import('./LeaveDialog'));

export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0d6e66" />
      <path d="M9 13v5a7 7 0 0 0 14 0v-5" fill="none" stroke="#fff" strokeWidth="2.6" strokeLinecap="round" />
      <circle cx="9" cy="10" r="3.2" fill="#f4c56a" />
      <circle cx="23" cy="10" r="3.2" fill="#fff" />
    </svg>
  );
}

export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const [menu, { open: openMenu, close: closeMenu }] = useDisclosure();
  const [palette, { open: openPalette, close: closePalette }] = useDisclosure();
  const [help, { open: openHelp, close: closeHelp }] = useDisclosure();
  const [location] = useLocation();
  const shortcuts = useMemo(() => shortcutsFor(places.filter((p) => !p.needs || can(me, p.needs))), [me]);
  useChanges(can(me, 'audit:read'));
  useNotifier();
  useEffect(() => setAdmin(can(me, 'admin')), [me]);
  useHotkeys([['mod+K', openPalette]], []);
  useShortcuts(shortcuts, openHelp);
  const leaving = useLeaving();
  const account = (
    <div className="account">
      <Account
        me={me}
        openHelp={() => {
          closeMenu();
          openHelp();
        }}
      />
    </div>
  );

  useLayoutEffect(() => {
    setTitle(placeOf(location)?.name); // until the screen names what it shows, in an effect that runs later
    closeMenu();
    window.scrollTo(0, 0);
  }, [location, closeMenu]);

  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <aside className="rail">
        <div>
          <Link href="/" className="brand">
            <Mark /> Junctor
          </Link>
          <div className="find-row">
            <button type="button" className="find" onClick={openPalette}>
              <Search size={14} aria-hidden /> Find <kbd>{findKeys}</kbd>
            </button>
            <DocsLink />
          </div>
        </div>
        <ScreenMenu me={me} />
        {account}
      </aside>
      <section className="bar" aria-label="Menu and search">
        <ActionIcon aria-label="Open the menu" onClick={openMenu} size="lg">
          <MenuIcon size={18} />
        </ActionIcon>
        <Link href="/" className="brand">
          <Mark /> Junctor
        </Link>
        <DocsLink />
        <ActionIcon aria-label="Find" onClick={openPalette} size="lg">
          <Search size={18} />
        </ActionIcon>
      </section>
      <main id="main">
        <div className="screen">
          <Allowed me={me}>{children}</Allowed>
        </div>
      </main>
      <Suspense>
        {menu && <MenuDrawer me={me} account={account} close={closeMenu} />}
        {palette && <Palette me={me} opened close={closePalette} />}
        {help && <ShortcutsDialog table={shortcuts} close={closeHelp} />}
        {leaving && <LeaveDialog />}
      </Suspense>
      <Toasts />
    </div>
  );
}

// DocsLink opens the page of the documentation that fits the screen.
function DocsLink() {
  const [location] = useLocation();
  const search = useSearch();
  return (
    <a
      className="docs-link"
      href={docsOf(location, search)}
      target="_blank"
      rel="noopener"
      title="The documentation of this screen, in a new tab"
    >
      <BookOpen size={14} aria-hidden /> Docs
    </a>
  );
}
