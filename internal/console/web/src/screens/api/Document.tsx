import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Download, RefreshCw } from 'lucide-react';
import { useSearchParams } from 'wouter';
import { get, type Schemas, type ServerDetail } from '../../api/client';
import { Ago, ExternalLink, Panel } from '../../parts/elements';
import { save } from '../../parts/save';
import { QueryContent } from '../../parts/states';
import { Problems, type Spot } from './Problems';
import { formats } from './Readers';
import { Reimport } from './Reimport';
import { useValidated } from './ToolEditor';

// Document is the documentation that a server is made of: its text, what is wrong
// with it, and where another one comes in.
export function Document({ s, may }: { s: ServerDetail; may: boolean }) {
  const validated = useValidated(s);
  const [asked, { open, close }] = useDisclosure();
  const stored = useQuery({
    queryKey: ['servers', s.id, 'document', s.updated_at],
    queryFn: ({ signal }) => get<Schemas['StoredDocument']>(`/servers/${s.id}/document`, signal),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
  });
  const [params, setParams] = useSearchParams();
  const line = Number(params.get('line'));
  const spot: Spot | undefined =
    line > 0 ? { line, column: Number(params.get('column')) || 1, file: params.get('file') || undefined } : undefined;
  const show = (to: Spot) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        next.set('line', String(to.line));
        if (to.column && to.column > 1) next.set('column', String(to.column));
        else next.delete('column');
        if (to.file) next.set('file', to.file);
        else next.delete('file');
        return next;
      },
      { replace: true },
    );
  return (
    <QueryContent query={stored}>
      {(d) => (
        <QueryContent query={validated}>
          {(p) => (
            <div className="stack" style={{ gap: '1.125rem' }}>
              <Panel pad>
                <div className="row">
                  <span className="grow">
                    <b>
                      {formats[p.format] ?? p.format} {p.version}
                    </b>{' '}
                    <span className="soft">
                      {p.title} {p.edition} · read <Ago at={d.fetched_at} />
                    </span>
                    {s.api?.document_url && (
                      <span className="small" style={{ display: 'block' }}>
                        <ExternalLink href={s.api.document_url} />
                      </span>
                    )}
                  </span>
                  <Button
                    variant="default"
                    leftSection={<Download size={15} />}
                    onClick={() => save(`${s.id}.txt`, d.document, 'text/plain')}
                  >
                    Download
                  </Button>
                  {may && (
                    <Button leftSection={<RefreshCw size={15} />} onClick={open}>
                      Update
                    </Button>
                  )}
                </div>
              </Panel>
              <Problems problems={p.problems.filter((x) => !x.edit)} text={d.document} file={p.file} spot={spot} show={show} />
              <Reimport s={s} text={d.document} opened={asked} close={close} />
            </div>
          )}
        </QueryContent>
      )}
    </QueryContent>
  );
}
