import type { ServerDetail } from '../../api/client';
import { Document } from './Document';
import { ToolEditor } from './ToolEditor';

// ApiTabs are the tabs that only a generated server has. They are fetched when one of
// them is opened.
export default function ApiTabs({ s, may, part }: { s: ServerDetail; may: boolean; part: 'edit' | 'document' }) {
  return part === 'edit' ? <ToolEditor s={s} may={may} /> : <Document s={s} may={may} />;
}
