import { ActionIcon, Drawer, Menu, useMantineColorScheme } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { BookOpen, Check, Keyboard, LogOut, Menu as MenuIcon, Monitor, Moon, Search, Sun } from 'lucide-react';
import { type ReactNode, useEffect, useLayoutEffect, useMemo } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import { useAttention } from '../api/attention';
import type { Me } from '../api/client';
import { useVersion } from '../api/data';
import { useChanges } from '../api/feed';
import { useTotal } from '../api/lists';
import { setAdmin } from '../api/live';
import { useNotifier } from '../parts/notifications';
import { setTitle } from '../parts/title';
import { Allowed } from './Allowed';
import { LeaveDialog } from './LeaveDialog';
import { attentionAt, docsOf, grouped, placeOf, places } from './navigation';
import { Palette } from './Palette';
import { can } from './permissions';
import { ShortcutsDialog, useShortcuts } from './ShortcutsDialog';
import { findKeys, shortcutsFor } from './shortcuts';
import { Toasts } from './Toasts';

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
        <Navigation me={me} />
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
      {menu && (
        <Drawer opened onClose={closeMenu} size="17rem" title="Junctor" classNames={{ body: 'drawer-body', content: 'drawer-content' }}>
          <div className="drawer-menu">
            <Navigation me={me} />
            {account}
          </div>
        </Drawer>
      )}
      <main id="main">
        <div className="screen">
          <Allowed me={me}>{children}</Allowed>
        </div>
      </main>
      {palette && <Palette me={me} opened close={closePalette} />}
      <LeaveDialog />
      <Toasts />
      {help && <ShortcutsDialog table={shortcuts} close={closeHelp} />}
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

// Navigation is the menu: places of a group stand together under its name.
function Navigation({ me }: { me: Me }) {
  const [location] = useLocation();
  const audits = can(me, 'audit:read');
  const servers = useTotal('/servers', {}, can(me, 'tools:read'));
  const tools = useTotal('/tools');
  const attention = useAttention();
  const chains = useTotal('/chains', {}, audits, 60_000);
  const counts: Record<string, number | undefined> = { '/servers': servers.data, '/tools': tools.data };
  const waiting: Record<string, number> = {};
  for (const [kind, n] of Object.entries(attention.kinds)) {
    const at = attentionAt[kind as keyof typeof attentionAt];
    waiting[at] = (waiting[at] ?? 0) + n;
  }
  const urgent = new Set(attention.items.filter((i) => i.severity === 'critical').map((i) => attentionAt[i.kind]));
  const shown = placeOf(location);
  const here = shown?.within ?? shown?.path;
  const list = places.filter((p) => !p.aside && (!p.needs || can(me, p.needs)) && (!p.chains || (chains.data ?? 0) > 0));
  return (
    <nav className="menu" aria-label="Screens">
      {grouped(list).map(([group, list]) => (
        <div key={`${group} ${list[0]?.path}`} className="menu-group">
          {group && <span className="group-name">{group}</span>}
          {list.map((p) => (
            <Link key={p.path} href={p.path} className="menu-item" aria-current={here === p.path ? 'page' : undefined}>
              <p.icon size={15} strokeWidth={1.75} aria-hidden />
              <span className="cut">{p.name}</span>
              {p.path === '/attention' && attention.total > 0 ? (
                <span className={`badge ${attention.tone}`}>{attention.total}</span>
              ) : waiting[p.path] ? (
                <span
                  className={`badge ${urgent.has(p.path) ? 'bad' : 'warn'}`}
                  role="img"
                  aria-label={`${waiting[p.path]} need attention`}
                  title={`${waiting[p.path]} need attention`}
                >
                  {waiting[p.path]}
                </span>
              ) : (
                counts[p.path] !== undefined && <span className="count">{counts[p.path]?.toLocaleString('en')}</span>
              )}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  );
}

function Account({ me, openHelp }: { me: Me; openHelp: () => void }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const version = useVersion();
  const name = me.name || me.subject;
  const role = me.person?.role ?? (me.scopes.includes('admin') ? 'admin' : me.issuer);
  const schemes = [
    { value: 'light', name: 'Light', icon: Sun },
    { value: 'dark', name: 'Dark', icon: Moon },
    { value: 'auto', name: 'System', icon: Monitor },
  ] as const;
  return (
    <Menu position="top-start" width="13rem">
      <Menu.Target>
        <button type="button" className="whoami">
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
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        {schemes.map((s) => (
          <Menu.Item
            key={s.value}
            leftSection={<s.icon size={14} />}
            rightSection={colorScheme === s.value ? <Check size={14} /> : null}
            onClick={() => setColorScheme(s.value)}
          >
            {s.name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Keyboard size={14} />} rightSection={<kbd>?</kbd>} onClick={openHelp}>
          Keyboard shortcuts
        </Menu.Item>
        <form method="post" action="/logout">
          {/* The menu stays: a form that is gone is not sent. */}
          <Menu.Item component="button" type="submit" closeMenuOnClick={false} leftSection={<LogOut size={14} />}>
            Sign out
          </Menu.Item>
        </form>
        {version.data && <Menu.Label>Junctor {version.data.version}</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}
