import { Drawer } from '@mantine/core';
import { Wrench } from 'lucide-react';
import { Link } from 'wouter';
import { type Room, useInPlay } from '../../api/rooms';
import { Panel, Tag } from '../../parts/elements';
import { count } from '../../parts/format';
import { Empty, QueryContent } from '../../parts/states';
import { Virtual } from '../../parts/Virtual';

const height = 42;
const many = 40; // tools, above which models choose badly

// RoomTools shows which tools each agent of a room may use now.
export function RoomTools({ room, close }: { room: Room; close: () => void }) {
  const tools = useInPlay(room.id);
  return (
    <Drawer opened onClose={close} position="right" title="Members and tools">
      <div className="stack">
        {room.members
          .filter((m) => m.user)
          .map((m) => (
            <span key={m.user} className="row">
              <Tag>person</Tag> {m.name || m.user}
            </span>
          ))}
        <QueryContent query={tools}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No agents">Add agents in the settings of the room.</Empty>
            ) : (
              <div className="stack">
                {all.map((a) => (
                  <Panel
                    key={a.agent}
                    title={
                      <Link className="link" href={`/agents/${a.agent}`}>
                        {a.agent}
                      </Link>
                    }
                    acts={
                      <Tag
                        tone={a.tools.length > many ? 'warn' : ''}
                        title={a.tools.length > many ? 'Models choose badly among so many tools.' : ''}
                      >
                        {count(a.tools.length)} {a.tools.length === 1 ? 'tool' : 'tools'}
                      </Tag>
                    }
                  >
                    {a.fault && <p className="pad small called-fault">{a.fault}</p>}
                    {a.tools.length === 0 ? (
                      <p className="pad small soft">No tools.</p>
                    ) : (
                      <Virtual
                        count={a.tools.length}
                        height={height}
                        label={`Tools of ${a.agent}`}
                        row={(i) => {
                          const t = a.tools[i];
                          return (
                            t && (
                              <li key={t.name} className="rows line" style={{ height }}>
                                <Link href={`/tools/${encodeURIComponent(t.name)}`}>
                                  <Wrench size={13} aria-hidden />
                                  <code className="cut grow">{t.name}</code>
                                  {t.has_view && <Tag tone="act">App</Tag>}
                                  {!t.read_only && <Tag tone="warn">writes</Tag>}
                                </Link>
                              </li>
                            )
                          );
                        }}
                      />
                    )}
                  </Panel>
                ))}
              </div>
            )
          }
        </QueryContent>
      </div>
    </Drawer>
  );
}
