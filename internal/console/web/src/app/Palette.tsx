import { Modal, TextInput, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Bot, Moon, Play, Plus, Search, Server as ServerIcon, Sun, UserRound, Wrench } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { User } from '../api/admin';
import type { Agent, ListedServer, Me, Tool } from '../api/client';
import { useFirst } from '../api/lists';
import { matches } from '../parts/search';
import { places } from './navigation';
import { can } from './permissions';

interface Entry {
  key: string;
  icon: ReactNode;
  name: string;
  about: string;
  go: () => void;
}

const most = 40;
const found = 20; // of each kind

export default function Palette({ me, opened, close }: { me: Me; opened: boolean; close: () => void }) {
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="12vh"
      centered={false}
      title="Find"
      styles={{ header: { display: 'none' } }}
    >
      {opened && <PaletteSearch me={me} close={close} />}
    </Modal>
  );
}

function PaletteSearch({ me, close }: { me: Me; close: () => void }) {
  const [, navigate] = useLocation();
  const { setColorScheme } = useMantineColorScheme();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  // The server searches; the words are matched again below, since its answer may be to the
  // letters before.
  const [searched] = useDebouncedValue(text, 120);
  const asked = searched.replace(/^\s*try\s+/i, ''); // the palette's own word, that no object has
  const reads = can(me, 'tools:read');
  const servers = useFirst<ListedServer>('/servers', { q: asked }, found, reads);
  const agents = useFirst<Agent>('/agents', { q: asked }, found, reads);
  const tools = useFirst<Tool>('/tools', { q: asked }, found);
  const users = useFirst<User>('/users', { q: asked }, found, can(me, 'admin'));

  const entries = useMemo(() => {
    const to = (path: string) => () => navigate(path);
    const all: Entry[] = places
      .filter((p) => !p.needs || can(me, p.needs))
      .map((p) => ({ key: p.path, icon: <p.icon size={15} />, name: p.name, about: p.about, go: to(p.path) }));
    if (can(me, 'servers:write'))
      all.push({
        key: '+server',
        icon: <Plus size={15} />,
        name: 'Add a server',
        about: 'A URL, a command or an mcp.json',
        go: to('/servers/add'),
      });
    if (can(me, 'agents:write'))
      all.push({
        key: '+agent',
        icon: <Plus size={15} />,
        name: 'Create an agent',
        about: 'A name, a role and its tools',
        go: to('/agents?new=1'),
      });
    all.push(
      { key: 'dark', icon: <Moon size={15} />, name: 'Dark theme', about: '', go: () => setColorScheme('dark') },
      { key: 'light', icon: <Sun size={15} />, name: 'Light theme', about: '', go: () => setColorScheme('light') },
    );
    for (const s of servers.data?.items ?? [])
      all.push({
        key: `s ${s.id}`,
        icon: <ServerIcon size={15} />,
        name: s.id,
        about: `server · ${s.title || s.state}`,
        go: to(`/servers/${s.id}`),
      });
    for (const a of agents.data?.items ?? [])
      all.push({ key: `a ${a.name}`, icon: <Bot size={15} />, name: a.name, about: `agent · ${a.role}`, go: to(`/agents/${a.name}`) });
    for (const u of users.data?.items ?? [])
      all.push({ key: `u ${u.id}`, icon: <UserRound size={15} />, name: u.name, about: `user · ${u.role}`, go: to(`/users/${u.id}`) });
    for (const t of tools.data?.items ?? []) {
      all.push({
        key: `t ${t.exposed}`,
        icon: <Wrench size={15} />,
        name: t.exposed,
        about: t.description ?? 'tool',
        go: to(`/tools/${encodeURIComponent(t.exposed)}`),
      });
      if (text && can(me, 'tools:call'))
        all.push({
          key: `p ${t.exposed}`,
          icon: <Play size={15} />,
          name: `Try ${t.exposed}`,
          about: '',
          go: to(`/playground?name=${encodeURIComponent(t.exposed)}`),
        });
    }
    // What is called so comes before what only speaks of it.
    const fit = all.filter((e) => matches(text, e.name, e.about));
    return [...fit.filter((e) => matches(text, e.name)), ...fit.filter((e) => !matches(text, e.name))].slice(0, most);
  }, [me, servers.data, tools.data, agents.data, users.data, text, navigate, setColorScheme]);

  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at]);

  const choose = (e: Entry | undefined) => {
    if (!e) return;
    close();
    e.go();
  };
  const press = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown') setAt((i) => Math.min(i + 1, entries.length - 1));
    else if (e.key === 'ArrowUp') setAt((i) => Math.max(i - 1, 0));
    else if (e.key === 'Enter') choose(entries[at]);
    else return;
    e.preventDefault();
  };
  return (
    <>
      <TextInput
        data-autofocus
        variant="unstyled"
        size="md"
        px="md"
        py={4}
        leftSection={<Search size={16} />}
        placeholder="Find a screen, a server, a tool, an agent…"
        aria-label="Find"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={entries[at] ? `found-${at}` : undefined}
        value={text}
        onChange={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div
        className="palette-list"
        id="found"
        role="listbox"
        aria-label="Search results"
        ref={list}
        style={{ borderTop: '1px solid var(--line-soft)' }}
      >
        {entries.map((e, i) => (
          <button
            type="button"
            key={e.key}
            id={`found-${i}`}
            role="option"
            aria-selected={i === at}
            tabIndex={-1}
            onMouseMove={() => setAt(i)}
            onClick={() => choose(e)}
          >
            <span className="soft" style={{ display: 'flex' }}>
              {e.icon}
            </span>
            <span className="cut" style={{ fontWeight: 500, flex: 'none', maxWidth: '60%' }}>
              {e.name}
            </span>
            <span className="cut soft small grow">{e.about}</span>
          </button>
        ))}
        {entries.length === 0 && <p className="soft pad">Nothing matches.</p>}
      </div>
    </>
  );
}
