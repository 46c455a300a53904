import { Button, NativeSelect, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useRef } from 'react';
import type { Tool } from '../../api/client';
import { useServers, useTool } from '../../api/data';
import { useFirst } from '../../api/lists';
import { Panel } from '../../parts/elements';
import { SuggestInput } from '../../parts/SuggestInput';
import { placesIn, type To, templateFor } from '../../parts/trigger';
import { DeliveryOptions } from './DeliveryOptions';
import type { Fields } from './fields';

const suggestions = 50; // tools

const narrow = { minWidth: '9rem' };

const tos: { value: To; label: string }[] = [
  { value: 'server', label: 'Server' },
  { value: 'agent', label: 'Endpoint of an agent' },
  { value: 'resolve', label: 'Endpoint from a registry' },
];

const targets: Record<To, { label: string; placeholder: string; about: string }> = {
  server: { label: 'Server', placeholder: 'demo', about: 'ID of the server' },
  agent: { label: 'Agent', placeholder: 'event', about: '“event” means the agent of the event.' },
  resolve: { label: 'Registry', placeholder: 'erc8004', about: 'Looked up for each delivery' },
};

// ActionFields say which call follows: a tool, where it is, and its arguments.
export function ActionFields({ draft: d, wrong, change, data }: Fields & { data: unknown }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const servers = useServers();
  // A server that is being typed, or that a ready-made trigger names, need not exist.
  const exists = d.to === 'server' && servers.data?.some((s) => s.id === d.target);
  const [typed] = useDebouncedValue(d.tool, 150);
  const tools = useFirst<Tool>('/tools', { server: d.target, q: typed, schemas: 'false' }, suggestions, exists === true);
  const own = exists ? (tools.data?.items.filter((t) => t.server === d.target) ?? []) : [];
  const tool = useTool(own.find((t) => t.name === d.tool)?.exposed ?? '').data;
  const target = targets[d.to];
  const insert = (place: string) => {
    const at = box.current?.selectionStart ?? d.template.length;
    const to = box.current?.selectionEnd ?? at;
    change({ template: `${d.template.slice(0, at)}{{${place}}}${d.template.slice(to)}` });
    box.current?.focus();
  };
  return (
    <Panel title="Then" pad>
      <div className="stack">
        <div className="row" style={{ alignItems: 'flex-start' }}>
          <NativeSelect
            className="grow"
            style={narrow}
            label="Call a tool on"
            value={d.to}
            data={tos}
            onChange={(e) => {
              const to = e.currentTarget.value as To;
              change({ to, target: to === 'agent' ? 'event' : to === 'resolve' ? 'erc8004' : '' });
            }}
          />
          <SuggestInput
            className="grow"
            style={narrow}
            label={target.label}
            description={target.about}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            placeholder={target.placeholder}
            required
            value={d.target}
            error={wrong.target}
            change={(v) => change({ target: v })}
            known={d.to === 'server' ? (servers.data?.map((s) => s.id) ?? []) : d.to === 'agent' ? ['event'] : ['erc8004']}
          />
          <SuggestInput
            className="grow"
            style={narrow}
            label="Tool"
            description="Original name of the tool"
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            placeholder="echo"
            required
            value={d.tool}
            error={wrong.tool}
            change={(v) => change({ tool: v })}
            known={own.map((t) => t.name)}
          />
        </div>
        <div className="editor">
          <Textarea
            ref={box}
            label="Arguments"
            description="JSON with {{data.name}} for event fields, {{data.name?}} for optional fields and {{data.n|integer}} for types."
            autosize
            minRows={4}
            maxRows={20}
            spellCheck={false}
            value={d.template}
            error={wrong.template}
            onChange={(e) => change({ template: e.currentTarget.value })}
          />
        </div>
        <div className="row" style={{ gap: '0.375rem' }}>
          <span className="tiny soft">Insert:</span>
          {placesIn(data, 24).map((p) => (
            <Button key={p} size="compact-xs" variant="default" className="mono" onClick={() => insert(p)}>
              {p}
            </Button>
          ))}
          {tool && (
            <Button size="compact-xs" variant="light" onClick={() => change({ template: templateFor(tool.input_schema) })}>
              All arguments of {tool.name}
            </Button>
          )}
        </div>
        <DeliveryOptions draft={d} wrong={wrong} change={change} />
      </div>
    </Panel>
  );
}
