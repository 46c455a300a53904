import { useSearchParams } from 'wouter';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { Head, Tabs } from '../parts/elements';
import { KeyList } from './KeyList';
import { Account } from './settings/Account';
import { Connect } from './settings/Connect';
import { Egress } from './settings/Egress';
import { ImportExport } from './settings/ImportExport';
import { Instance } from './settings/Instance';
import { Limits } from './settings/Limits';
import { Roles } from './settings/Roles';
import { Secrets } from './settings/Secrets';
import { Tenants } from './settings/Tenants';
import { Users } from './settings/Users';
import { Sessions } from './user/Sessions';

export default function Settings() {
  const me = useMe().data;
  const [params, setParams] = useSearchParams();
  const chosen = params.get('tab') ?? 'you';
  // Filters are those of one tab.
  const choose = (tab: string) => setParams(tab === 'you' ? {} : { tab }, { replace: true });
  const admin = can(me, 'admin');
  const tabs: [string, string][] = [
    ['you', 'Account'],
    ['sessions', 'Sessions'],
    ['connect', 'Connect a client'],
  ];
  if (can(me, 'keys:write')) tabs.push(['keys', 'Keys']);
  if (admin) tabs.push(['users', 'Users'], ['roles', 'Roles']);
  tabs.push(['limits', 'Limits']);
  if (can(me, 'servers:write')) tabs.push(['secrets', 'Secrets']);
  if (can(me, 'tools:read')) tabs.push(['files', 'Import and export']);
  if (admin && me?.tenant === 'default') tabs.push(['egress', 'Egress'], ['tenants', 'Tenants'], ['instance', 'Instance']);
  // An address may name a tab that the user may not see.
  const tab = tabs.some(([key]) => key === chosen) ? chosen : 'you';
  return (
    <>
      <Head title="Settings" />
      <Tabs label="Settings" now={tab} choose={choose} tabs={tabs} />
      {tab === 'you' && me && <Account me={me} />}
      {tab === 'connect' && <Connect />}
      {tab === 'sessions' && <Sessions />}
      {tab === 'keys' && <KeyList />}
      {tab === 'users' && admin && <Users />}
      {tab === 'roles' && <Roles />}
      {tab === 'limits' && <Limits />}
      {tab === 'secrets' && <Secrets />}
      {tab === 'files' && <ImportExport />}
      {tab === 'egress' && <Egress />}
      {tab === 'tenants' && <Tenants />}
      {tab === 'instance' && <Instance />}
    </>
  );
}
