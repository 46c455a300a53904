import { useEffect, useRef, useState } from 'react';
import { type APIPreview, type Schemas, send } from '../../api/client';
import { follow, type Passed } from '../../api/probe';

export type Body = Schemas['NewServerBody'];

export interface Reading {
  busy: boolean;
  begun: number;
  passed: Passed[];
  preview: APIPreview | null;
  text: string; // of the document that is shown
  error: unknown;
}

const nothing: Reading = { busy: false, begun: 0, passed: [], preview: null, text: '', error: null };

// useReading reads a document, one at a time. One at an address is fetched first,
// so that what is looked at is what is added.
export function useReading() {
  const [reading, setReading] = useState<Reading>(nothing);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);
  const forget = () => {
    control.current?.abort();
    setReading(nothing);
  };
  // read gives what came of it; nothing where it failed, or another one began.
  const read = async (body: Body): Promise<APIPreview | undefined> => {
    control.current?.abort();
    const own = new AbortController();
    control.current = own;
    const begun = Date.now();
    setReading({ ...nothing, busy: true, begun });
    try {
      let text = body.document ?? '';
      if (!text) {
        const got = await send<Schemas['StoredDocument']>('POST', '/servers/preview/document', body, { signal: own.signal });
        text = got.document;
      }
      setReading((r) => ({ ...r, text, passed: [{ step: 'fetch', elapsed_ns: (Date.now() - begun) * 1e6 }] }));
      const preview = await follow<APIPreview>('/servers/preview/steps', { ...body, document: text }, own.signal, (p) =>
        setReading((r) => (p.step === 'fetch' ? r : { ...r, passed: [...r.passed, p] })),
      );
      if (own.signal.aborted) return undefined;
      setReading((r) => ({ ...r, busy: false, preview }));
      return preview;
    } catch (error) {
      if (!own.signal.aborted) setReading((r) => ({ ...r, busy: false, error }));
      return undefined;
    }
  };
  return { reading, read, forget };
}
