import { Button, Checkbox, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schemas, type ServerDetail, send } from '../../api/client';
import { tableOf } from '../../parts/document';
import { Panel, Scroll, Tag, type Tone } from '../../parts/elements';
import { count, counted } from '../../parts/format';
import { Empty, ErrorCard } from '../../parts/states';
import { type DocumentDraft, DocumentInput, documentOf, emptyDocument } from './DocumentInput';
import { toolCount, Verb } from './Operations';

type Imported = Schemas['Imported'];
type Change = Schemas['APIChange'];

const kinds: Record<Change['kind'], [Tone, string]> = {
  added: ['good', 'added'],
  changed: ['warn', 'changed'],
  removed: ['bad', 'removed'],
};

// Reimport makes a server of its document anew: what would change is looked at
// before it is taken over.
export function Reimport({ s, text, opened, close }: { s: ServerDetail; text: string; opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="Update the document" size="54rem">
      {opened && <Steps s={s} text={text} close={close} />}
    </Modal>
  );
}

function begin(s: ServerDetail, text: string): DocumentDraft {
  const url = s.api?.document_url ?? '';
  const table = url ? undefined : tableOf(text);
  if (table) return { ...emptyDocument, from: 'table', title: table.title, operations: table.operations };
  return { ...emptyDocument, from: url && !url.startsWith('file:') ? 'url' : 'text', url: url.startsWith('file:') ? '' : url };
}

function Steps({ s, text, close }: { s: ServerDetail; text: string; close: () => void }) {
  const cache = useQueryClient();
  const [given, setGiven] = useState<DocumentDraft>(() => begin(s, text));
  const [accepted, setAccepted] = useState(false);
  const document = documentOf({ ...given, format: '' }, tableOf(text)?.base);
  const compare = useMutation({
    mutationFn: () => send<Imported>('POST', `/servers/${s.id}/import`, { ...document, dry_run: true }),
    onMutate: () => setAccepted(false),
  });
  const take = useMutation({
    mutationFn: () => send<Imported>('POST', `/servers/${s.id}/import`, { ...document, ...(accepted ? { accept_breaking: true } : {}) }),
    onSuccess: async (done) => {
      if (!done.applied) return compare.mutate(); // it has changed since
      await Promise.all([
        cache.invalidateQueries({ queryKey: ['servers'] }),
        cache.invalidateQueries({ queryKey: ['tools'] }),
        cache.invalidateQueries({ queryKey: ['changes'] }),
      ]);
      cache.removeQueries({ queryKey: ['tool'], type: 'inactive' });
      close();
    },
  });
  const differs = compare.data;
  const breaking = differs?.changes?.filter((c) => c.breaking).length ?? 0;
  return (
    <div className="stack">
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          compare.mutate();
        }}
      >
        <DocumentInput
          given={given}
          change={(part) => {
            setGiven({ ...given, ...part });
            compare.reset();
          }}
          format={false}
        />
        <div className="acts">
          <Button type="submit" variant={differs ? 'default' : 'filled'} disabled={!document} loading={compare.isPending}>
            Show changes
          </Button>
          <span className="small soft">This changes nothing yet. Names and edits are kept.</span>
        </div>
      </form>
      {compare.error && <ErrorCard error={compare.error} />}
      {differs && (
        <>
          <Changes all={differs.changes ?? []} />
          {(differs.changes?.length ?? 0) > 0 && (
            <p className="small soft">
              The server will have {counted(toolCount(differs), 'tool')}. The document has {counted(differs.problems.length, 'problem')}.
            </p>
          )}
          {breaking > 0 && (
            <Checkbox
              label={`Accept ${counted(breaking, 'breaking change')}: existing callers may fail`}
              checked={accepted}
              onChange={(e) => setAccepted(e.currentTarget.checked)}
            />
          )}
          {take.error && <ErrorCard error={take.error} />}
          <div className="acts">
            <Button disabled={breaking > 0 && !accepted} loading={take.isPending} onClick={() => take.mutate()}>
              Apply
            </Button>
            <Button variant="subtle" onClick={close}>
              Cancel
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

// Changes are the differences between a document and the one before.
export function Changes({ all }: { all: Change[] }) {
  if (all.length === 0)
    return (
      <Panel>
        <Empty title="No changes">All tools stay the same.</Empty>
      </Panel>
    );
  const number = (kind: Change['kind']) => all.filter((c) => c.kind === kind).length;
  const breaking = all.filter((c) => c.breaking).length;
  const sorted = [...all].sort((a, b) => Number(b.breaking ?? false) - Number(a.breaking ?? false));
  return (
    <Panel
      title={`${number('added')} added, ${number('changed')} changed, ${number('removed')} removed`}
      acts={breaking > 0 && <Tag tone="bad">{breaking} breaking</Tag>}
    >
      <Scroll label="Changes" className="rows" height="22rem">
        {sorted.slice(0, 500).map((c) => (
          <div key={`${c.kind} ${c.key}`} style={{ alignItems: 'flex-start' }}>
            <span style={{ width: '4.25rem', flex: 'none' }}>
              <Tag tone={kinds[c.kind][0]}>{kinds[c.kind][1]}</Tag>
            </span>
            <span className="grow stack tight">
              <span className="row plain">
                <b className="mono cut">{c.tool}</b>
                {c.breaking && <Tag tone="bad">breaking</Tag>}
              </span>
              <span className="row plain tiny soft">
                <Verb of={c.key} />
              </span>
              {c.what && c.what.length > 0 && <span className="small wrap">{c.what.join('; ')}</span>}
            </span>
          </div>
        ))}
        {sorted.length > 500 && <div className="small soft">{count(sorted.length - 500)} more.</div>}
      </Scroll>
    </Panel>
  );
}
