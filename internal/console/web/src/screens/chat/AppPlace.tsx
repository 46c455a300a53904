import { Button } from '@mantine/core';
import { AppWindow } from 'lucide-react';
import { useEffect, useMemo, useRef } from 'react';
import { useVersion } from '../../api/data';
import { AppView, useSnapshot } from '../../apps/AppView';
import { isObject, type Params } from '../../apps/protocol';
import { RunningApp } from '../../apps/runningApp';
import { Code } from '../../parts/Json';
import type { RoomCall } from './room';

// AppPlace is where a call's App stands in a conversation: as the agent that made
// the call, with what the tool was given and gave. Old ones wait to be opened.
export function AppPlace({
  call,
  agent,
  on,
  open,
  offer,
}: {
  call: RoomCall;
  agent: string;
  on: boolean;
  open: () => void;
  offer: (text: string) => void;
}) {
  const version = useVersion().data?.version ?? '';
  const first = useRef({ call, agent });
  const running = useMemo(() => {
    if (!on || !version) return undefined;
    const { call: c, agent: a } = first.current;
    const tool = c.server && c.tool ? { tool: c.tool, server: c.server } : { tool: c.name };
    const result: Params = isObject(c.result) ? c.result : { content: [{ type: 'text', text: c.result_text ?? '' }] };
    const progress = { input: isObject(c.arguments) ? c.arguments : {}, result };
    return new RunningApp({ ...tool, agent: a, ...(c.record ? { call: c.record } : {}) }, progress, { version });
  }, [on, version]);
  if (!running)
    return (
      <div className="app-place">
        <Button size="compact-sm" variant="default" leftSection={<AppWindow size={14} />} onClick={open}>
          Open the App
        </Button>
      </div>
    );
  return (
    <div className="app-place">
      <AppMessages running={running} offer={offer} />
      <AppView running={running} title={call.tool ?? call.name} fallback={call.result_text ? <Code>{call.result_text}</Code> : undefined} />
    </div>
  );
}

// AppMessages hands on what an App would say in the person's name: they may send it, or
// not.
function AppMessages({ running, offer }: { running: RunningApp; offer: (text: string) => void }) {
  const { messages } = useSnapshot(running);
  const heard = useRef(0);
  useEffect(() => {
    for (const m of messages.slice(heard.current)) {
      const text = m.content.map((c) => (typeof c.text === 'string' ? c.text : '')).join('\n');
      if (text.trim()) offer(text.trim());
    }
    heard.current = messages.length;
  }, [messages, offer]);
  return null;
}
