import { useWho } from '../api/data';
import { Copy } from './elements';

// Principal names who did something or owns something, by an ID such as user:ID, key:ID or
// agent:NAME. If the name is not the ID, the ID is secondary, and can be copied.
export function Principal({ id }: { id: string }) {
  const name = useWho();
  const [issuer = '', ...rest] = id.split(':');
  const subject = rest.join(':');
  const shown = subject === '' ? id : name({ issuer, subject });
  if (shown === id || shown === subject || issuer === 'local') return <span title={id}>{shown}</span>;
  return (
    <span className="row" style={{ display: 'inline-flex' }}>
      {shown}
      <span className="row plain tiny soft">
        <code>{subject}</code> <Copy value={subject} label="Copy the ID" />
      </span>
    </span>
  );
}
