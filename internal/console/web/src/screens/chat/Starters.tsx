import { Button } from '@mantine/core';
import { useInPlay } from '../../api/rooms';
import { startersOf } from './starters';

// Starters are first messages of an empty room, made from what its agents can do. Choosing
// one writes it into the message field, where it can be changed before it is sent.
export function Starters({ room, choose }: { room: string; choose: (text: string) => void }) {
  const tools = useInPlay(room);
  const all = startersOf(tools.data ?? []);
  if (all.length === 0) return null;
  return (
    <ul className="starters" aria-label="Starter prompts">
      {all.map((text) => (
        <li key={text}>
          <Button variant="default" size="compact-sm" onClick={() => choose(text)}>
            {text}
          </Button>
        </li>
      ))}
    </ul>
  );
}
