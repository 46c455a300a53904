export interface Event {
  name: string;
  data: string;
}

// EventReader cuts a text that comes in pieces into server-sent events.
export class EventReader {
  private rest = '';

  push(piece: string): Event[] {
    const blocks = (this.rest + piece).split('\n\n');
    this.rest = blocks.pop() ?? '';
    return blocks.map(parse).filter((e) => e.data !== '');
  }
}

function parse(block: string): Event {
  const event: Event = { name: 'message', data: '' };
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event.name = line.slice(7);
    else if (line.startsWith('data: ')) event.data += (event.data && '\n') + line.slice(6);
  }
  return event;
}
