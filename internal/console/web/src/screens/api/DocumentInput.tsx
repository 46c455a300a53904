import { Button, NativeSelect, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import { FileUp } from 'lucide-react';
import { type DragEvent, useRef, useState } from 'react';
import { type Operation, pack, tableText, unpack } from '../../parts/document';
import { bytes, counted } from '../../parts/format';
import { SourceText } from '../../parts/SourceText';
import { blank, OperationTable } from './OperationTable';
import { formats } from './Readers';

export type From = 'url' | 'text' | 'table';

// DocumentDraft is a document as somebody gives it.
export interface DocumentDraft {
  from: From;
  url: string;
  text: string;
  name: string; // of the file that the text came from
  title: string; // of the table
  operations: Operation[];
  format: string;
}

export const emptyDocument: DocumentDraft = { from: 'url', url: '', text: '', name: '', title: '', operations: [blank()], format: '' };

// documentOf is the part of a request that says which document is meant; nothing
// where none is given yet.
export function documentOf(g: DocumentDraft, base = ''): { document?: string; document_url?: string; format?: string } | undefined {
  const format = g.format && g.from !== 'table' ? { format: g.format } : {};
  if (g.from === 'url') return /^https?:\/\/[^/]/i.test(g.url) ? { document_url: g.url, ...format } : undefined;
  const document = g.from === 'table' ? tableText(g.title, base, g.operations) : g.text;
  return document.trim() ? { document, ...format } : undefined;
}

const forms = ['openapi', 'graphql', 'postman', 'har', 'curl', 'api-blueprint', 'markdown', 'html'];
const editable = 100_000; // characters; a field of more than that is slow

// DocumentInput is where a document comes from: an address, a file or a text, or a table
// that is filled in.
export function DocumentInput({
  given,
  change,
  format = true,
}: {
  given: DocumentDraft;
  change: (part: Partial<DocumentDraft>) => void;
  format?: boolean; // it may be named
}) {
  const [over, setOver] = useState(false);
  const chooser = useRef<HTMLInputElement>(null);
  const take = async (list: FileList | null) => {
    const files = await Promise.all([...(list ?? [])].map(async (f) => ({ name: f.name, text: await f.text() })));
    if (files.length > 0) change({ from: 'text', text: pack(files), name: files.map((f) => f.name).join(', ') });
  };
  const drop = (e: DragEvent) => {
    e.preventDefault();
    setOver(false);
    void take(e.dataTransfer.files);
  };
  const long = given.text.length > editable;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a file can be chosen by the button too
    <div
      className={`stack drop ${over ? 'over' : ''}`}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <SegmentedControl
        aria-label="Kind of document"
        value={given.from}
        onChange={(v) => change({ from: v as From })}
        data={[
          { value: 'url', label: 'URL' },
          { value: 'text', label: 'File or text' },
          { value: 'table', label: 'Operations' },
        ]}
      />
      {given.from === 'url' && (
        <TextInput
          label="URL of the documentation"
          description="A specification, a page that links to one, a documentation page, or a GraphQL endpoint."
          placeholder="https://api.example.com/openapi.json"
          value={given.url}
          styles={{ input: { fontFamily: 'var(--mono)' } }}
          onChange={(e) => change({ url: e.currentTarget.value.trim() })}
        />
      )}
      {given.from === 'text' && (
        <>
          <div className="acts">
            <Button variant="default" leftSection={<FileUp size={15} />} onClick={() => chooser.current?.click()}>
              Choose a file
            </Button>
            <input
              ref={chooser}
              type="file"
              multiple
              hidden
              aria-label="File of the document"
              onChange={(e) => void take(e.currentTarget.files)}
            />
            <span className="small soft grow">
              {given.name || 'or drop it here, with the files that it refers to'}
              {given.text && ` · ${bytes(given.text.length)}`}
            </span>
            {given.text && (
              <Button size="compact-sm" variant="subtle" onClick={() => change({ text: '', name: '' })}>
                Clear
              </Button>
            )}
          </div>
          {long ? (
            <SourceText text={[...unpack(given.text).files.values()][0] ?? ''} at={undefined} label="Document" size="16rem" />
          ) : (
            <Textarea
              classNames={{ input: 'mono' }}
              label="Text"
              description="OpenAPI, GraphQL, Postman, HAR, curl commands, API Blueprint, Markdown or HTML."
              autosize
              minRows={8}
              maxRows={18}
              placeholder={'openapi: 3.1.0\ninfo: {title: Orders, version: "1"}\npaths: …'}
              value={given.text}
              onPaste={(e) => {
                const pasted = e.clipboardData.getData('text');
                if (pasted.length <= editable) return;
                e.preventDefault();
                change({ text: pasted, name: '' });
              }}
              onChange={(e) => change({ text: e.currentTarget.value })}
            />
          )}
        </>
      )}
      {given.from === 'table' ? (
        <OperationTable
          title={given.title}
          setTitle={(title) => change({ title })}
          operations={given.operations}
          change={(operations) => change({ operations })}
        />
      ) : format ? (
        <NativeSelect
          label="Format"
          value={given.format}
          data={[{ value: '', label: 'Auto-detect' }, ...forms.map((f) => ({ value: f, label: formats[f] ?? f }))]}
          onChange={(e) => change({ format: e.currentTarget.value })}
        />
      ) : null}
      {given.from === 'table' && (
        <p className="tiny soft">
          {counted(given.operations.filter((o) => o.path.trim()).length, 'operation')}. Write path parameters in braces.
        </p>
      )}
    </div>
  );
}
