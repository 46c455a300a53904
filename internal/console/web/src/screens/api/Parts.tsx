import type { ServerDetail } from '../../api/client';
import { ApiSettings } from './ApiSettings';
import { Document } from './Document';
import { Editor } from './Editor';

// Parts are the tabs that only a server made of a document has. They are fetched
// when one of them is looked at.
export default function Parts({ s, may, part }: { s: ServerDetail; may: boolean; part: 'edit' | 'document' | 'settings' }) {
  if (part === 'edit') return <Editor s={s} may={may} />;
  if (part === 'document') return <Document s={s} may={may} />;
  return <ApiSettings key={s.id} s={s} may={may} />;
}
