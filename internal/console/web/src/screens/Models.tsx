import { Button, Modal, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { BrainCircuit, Plus } from 'lucide-react';
import { useState } from 'react';
import { useMe } from '../api/data';
import { addModel, type Model, type NewModel, removeModel, testModel, useModels } from '../api/models';
import { can } from '../app/permissions';
import { Ago, Head, Panel, Tag } from '../parts/elements';
import { faultsOf, unplaced } from '../parts/faults';
import { HistoryButton } from '../parts/History';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';

const kinds: { value: Model['kind']; label: string }[] = [
  { value: 'openai', label: 'Chat completions (OpenAI, Ollama, vLLM, llama.cpp…)' },
  { value: 'anthropic', label: 'Messages (Anthropic)' },
  { value: 'a2a', label: 'Remote agent (A2A)' },
];

export default function Models() {
  const me = useMe().data;
  const models = useModels();
  const [adding, setAdding] = useParam('new');
  const may = can(me, 'admin');
  const add = may && (
    <Button leftSection={<Plus size={15} />} onClick={() => setAdding('1')}>
      Add a model
    </Button>
  );
  return (
    <>
      <Head title="Models" sub="Language models that agents answer with. An agent with rules needs no model.">
        {add}
      </Head>
      <Panel>
        <QueryContent query={models}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<BrainCircuit size={28} strokeWidth={1.5} aria-hidden />} title="No models yet" action={add}>
                Add a hosted model, or a local one by the address of its chat completions API.
              </Empty>
            ) : (
              <div>
                {all.map((m) => (
                  <Row key={m.name} m={m} may={may} />
                ))}
              </div>
            )
          }
        </QueryContent>
      </Panel>
      <Modal opened={adding !== '' && may} onClose={() => setAdding('')} title="Add a model">
        {adding !== '' && <Add close={() => setAdding('')} />}
      </Modal>
    </>
  );
}

function Row({ m, may }: { m: Model; may: boolean }) {
  const cache = useQueryClient();
  const [sure, setSure] = useState(false);
  const test = useMutation({ mutationFn: () => testModel(m.name) });
  const remove = useMutation({
    mutationFn: () => removeModel(m.name),
    onSettled: () => cache.invalidateQueries({ queryKey: ['models'] }),
  });
  const error = test.error ?? remove.error;
  return (
    <div className="line">
      <div className="row pad">
        <span className="grow stack tight">
          <span className="row">
            <b>{m.name}</b> <Tag>{m.kind}</Tag> {m.model && <code className="soft">{m.model}</code>}
            {!m.has_key && <Tag>no key</Tag>}
          </span>
          <span className="small soft wrap">
            {m.base_url || 'default address of the vendor'} · added <Ago at={m.created_at} />
          </span>
        </span>
        {may && (
          <span className="acts">
            <Button size="compact-sm" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
              Test
            </Button>
            <HistoryButton object="model" id={m.name} name={m.name} size="compact-sm" />
            <Button
              size="compact-sm"
              variant={sure ? 'filled' : 'light'}
              color="red"
              loading={remove.isPending}
              onClick={() => (sure ? remove.mutate() : setSure(true))}
            >
              {sure ? 'Confirm removal' : 'Remove'}
            </Button>
          </span>
        )}
      </div>
      {test.data && (
        <p className="small pad" role="status" style={{ paddingTop: 0 }}>
          <Tag tone={test.data.ok ? 'good' : 'bad'}>{test.data.ok ? 'answers' : 'does not answer'}</Tag>{' '}
          <span className="soft wrap">{test.data.detail}</span>
        </p>
      )}
      {error && (
        <div className="pad" style={{ paddingTop: 0 }}>
          <ErrorCard error={error} />
        </div>
      )}
    </div>
  );
}

function Add({ close }: { close: () => void }) {
  const cache = useQueryClient();
  const [m, setM] = useState<NewModel>({ name: '', kind: 'openai', base_url: '', model: '', key: '' });
  const add = useMutation({
    mutationFn: () =>
      addModel({
        name: m.name,
        kind: m.kind,
        model: m.kind === 'a2a' ? '' : m.model,
        ...(m.base_url ? { base_url: m.base_url } : {}),
        ...(m.key ? { key: m.key } : {}),
      }),
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: ['models'] });
      close();
    },
  });
  const faults = faultsOf(add.error, ['name', 'kind', 'base_url', 'model', 'key'], 'name');
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        add.mutate();
      }}
    >
      <TextInput
        label="Name"
        description="Agents refer to the model by this name."
        placeholder="local"
        data-autofocus
        value={m.name}
        error={faults.name}
        onChange={(e) => setM({ ...m, name: e.currentTarget.value })}
      />
      <NativeSelect
        label="API"
        value={m.kind}
        data={kinds}
        onChange={(e) => setM({ ...m, kind: e.currentTarget.value as Model['kind'] })}
      />
      {m.kind !== 'a2a' && (
        <TextInput
          label="Model"
          description="The name of the model at the provider."
          placeholder={m.kind === 'anthropic' ? 'claude-sonnet-4-5' : 'qwen3:8b'}
          value={m.model}
          onChange={(e) => setM({ ...m, model: e.currentTarget.value })}
        />
      )}
      <TextInput
        label="Address"
        description={`${m.kind === 'a2a' ? 'The address of the agent or of its card.' : 'Leave empty for the default address of the vendor.'} Allow an address on this machine under Settings, Egress.`}
        placeholder={m.kind === 'a2a' ? 'https://agents.example/a2a/clerk/' : 'http://127.0.0.1:11434/v1'}
        value={m.base_url}
        error={faults.base_url}
        onChange={(e) => setM({ ...m, base_url: e.currentTarget.value })}
      />
      <PasswordInput
        label="Key"
        description={`Stored encrypted and never shown again. ${m.kind === 'a2a' ? 'Only if the agent requires one.' : 'Many local models require none.'}`}
        autoComplete="off"
        value={m.key}
        onChange={(e) => setM({ ...m, key: e.currentTarget.value })}
      />
      {unplaced(add.error, faults) ? <ErrorCard error={add.error} /> : null}
      <div className="acts">
        <Button type="submit" disabled={!m.name || !(m.kind === 'a2a' ? m.base_url : m.model)} loading={add.isPending}>
          Add
        </Button>
      </div>
    </form>
  );
}
