import { Drawer, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Search as SearchIcon } from 'lucide-react';
import { useState } from 'react';
import { searchMessages } from '../../api/rooms';
import { Ago } from '../../parts/elements';
import { Empty, QueryContent } from '../../parts/states';

// RoomSearch finds what was said in a room.
export function RoomSearch({ id, close, go }: { id: string; close: () => void; go: (message: string) => void }) {
  const [text, setText] = useState('');
  const [asked, setAsked] = useState('');
  const found = useQuery({
    queryKey: ['rooms', id, 'search', asked],
    queryFn: ({ signal }) => searchMessages(id, asked, signal),
    enabled: asked !== '',
  });
  return (
    <Drawer opened onClose={close} position="right" title="Search this room">
      <div className="stack">
        <form
          onSubmit={(e) => {
            e.preventDefault();
            setAsked(text.trim());
          }}
        >
          <TextInput
            data-autofocus
            aria-label="Search text"
            placeholder="Search text, then Enter"
            leftSection={<SearchIcon size={14} />}
            value={text}
            onChange={(e) => setText(e.currentTarget.value)}
          />
        </form>
        {asked !== '' && (
          <QueryContent query={found}>
            {(all) =>
              all.length === 0 ? (
                <Empty title="No message matches" />
              ) : (
                <div className="rows found-rows">
                  {all.map((m) => (
                    <button key={m.id} type="button" onClick={() => go(m.id)}>
                      <span className="grow">
                        <span className="row small">
                          <b>{m.author.name}</b>
                          <span className="soft tiny">
                            <Ago at={m.at} />
                          </span>
                        </span>
                        <span className="small soft found-text">{m.text}</span>
                      </span>
                    </button>
                  ))}
                </div>
              )
            }
          </QueryContent>
        )}
      </div>
    </Drawer>
  );
}
