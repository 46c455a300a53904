import { Link } from 'wouter';
import { useMe, useWho } from '../api/data';
import { can } from '../app/permissions';
import { Copy } from './elements';

// pageOfPrincipal is the page of a user, an agent or a service's key, for those who may see
// it: of users only admins.
export function usePrincipalPage(): (issuer: string, subject: string) => string | undefined {
  const me = useMe().data;
  const pages: Record<string, string | false> = {
    user: can(me, 'admin') && '/users/',
    key: can(me, 'admin') && '/keys/',
    agent: can(me, 'tools:read') && '/agents/',
  };
  return (issuer, subject) => (pages[issuer] && subject ? pages[issuer] + encodeURIComponent(subject) : undefined);
}

// PrincipalName is the name of a caller, which leads to its page if it has one.
export function PrincipalName({ issuer, subject, agent }: { issuer: string; subject: string; agent?: string | undefined }) {
  const name = useWho();
  const pageOf = usePrincipalPage();
  const page = agent ? pageOf('agent', agent) : pageOf(issuer, subject);
  const shown = name({ issuer, subject, agent });
  return page ? (
    <Link className="link" href={page}>
      {shown}
    </Link>
  ) : (
    <span title={`${issuer}:${subject}`}>{shown}</span>
  );
}

// Principal names who did something or owns something, by an ID such as user:ID, key:ID or
// agent:NAME. If there is no page of it and the name is not the ID, the ID is secondary, and
// can be copied.
export function Principal({ id }: { id: string }) {
  const name = useWho();
  const pageOf = usePrincipalPage();
  const [issuer = '', ...rest] = id.split(':');
  const subject = rest.join(':');
  const shown = subject === '' ? id : name({ issuer, subject });
  if (pageOf(issuer, subject)) return <PrincipalName issuer={issuer} subject={subject} />;
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
