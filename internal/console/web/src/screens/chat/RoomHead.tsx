import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ChevronLeft, FileJson, FileText, Search as SearchIcon, Settings2, Wrench } from 'lucide-react';
import { useEffect } from 'react';
import { Link } from 'wouter';
import { exportRoom, type Room, useInPlay } from '../../api/rooms';
import { ActionMenu } from '../../parts/ActionMenu';
import { counted } from '../../parts/format';
import { save } from '../../parts/save';
import { ErrorCard } from '../../parts/states';
import { setTitle } from '../../parts/title';

const mostNamed = 3; // agents

// RoomHead names a room, who is in it, and what else can be done there.
export function RoomHead({ info, live, open }: { info: Room; live: boolean; open: (what: 'tools' | 'search' | 'settings') => void }) {
  useEffect(() => setTitle(info.name, 'Chat'), [info.name]);
  const tools = useInPlay(info.id);
  const agents = info.members.flatMap((m) => m.agent ?? []);
  const give = useMutation({
    mutationFn: async (format: 'markdown' | 'json') => {
      const file = info.name.replace(/[^\w-]+/g, '-').toLowerCase() || 'room';
      save(
        `${file}.${format === 'json' ? 'json' : 'md'}`,
        await exportRoom(info.id, format),
        format === 'json' ? 'application/json' : 'text/markdown',
      );
    },
  });
  return (
    <>
      <header className="room-head">
        <Link href="/chat" className="room-back" aria-label="All rooms">
          <ChevronLeft size={18} aria-hidden />
        </Link>
        <span className={`dot ${live ? 'good' : 'off'}`} title={live ? 'Live' : 'Connecting…'} />
        <h1 className="cut">{info.name}</h1>
        <Tooltip label="Members and tools">
          <button type="button" className="in-play" onClick={() => open('tools')}>
            {agents.slice(0, mostNamed).map((a) => (
              <span key={a} className="tag each">
                {a}
                <span className="num">
                  <Wrench size={10} aria-hidden /> {tools.data?.find((t) => t.agent === a)?.tools.length ?? '–'}
                </span>
              </span>
            ))}
            {agents.length > mostNamed && <span className="tag each">+{agents.length - mostNamed}</span>}
            {agents.length === 0 && <span className="tag each">no agents</span>}
            <span className="tag together">{counted(agents.length, 'agent')}</span>
          </button>
        </Tooltip>
        <ActionIcon aria-label="Search this room" onClick={() => open('search')}>
          <SearchIcon size={16} />
        </ActionIcon>
        <ActionMenu label="More about this room">
          <Menu.Item leftSection={<Wrench size={14} />} onClick={() => open('tools')}>
            Members and tools
          </Menu.Item>
          <Menu.Item leftSection={<FileText size={14} />} onClick={() => give.mutate('markdown')}>
            Export as Markdown
          </Menu.Item>
          <Menu.Item leftSection={<FileJson size={14} />} onClick={() => give.mutate('json')}>
            Export as JSON
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<Settings2 size={14} />} onClick={() => open('settings')}>
            Settings
          </Menu.Item>
        </ActionMenu>
      </header>
      {give.error && <ErrorCard error={give.error} />}
    </>
  );
}
