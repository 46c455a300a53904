import { useMe } from '../api/data';
import { can } from '../app/may';
import { Head, Tabs } from '../parts/bits';
import { useParam } from '../parts/url';
import { Connect } from './settings/Connect';
import { Egress } from './settings/Egress';
import { Files } from './settings/Files';
import { Instance } from './settings/Instance';
import { Keys } from './settings/Keys';
import { Limits } from './settings/Limits';
import { People } from './settings/People';
import { Secrets } from './settings/Secrets';
import { You } from './settings/You';

export default function Settings() {
  const me = useMe().data;
  const [tab, setTab] = useParam('tab', 'you');
  const admin = can(me, 'admin');
  const tabs: [string, string][] = [
    ['you', 'You'],
    ['connect', 'Connect a client'],
  ];
  if (can(me, 'keys:write')) tabs.push(['keys', 'Keys']);
  if (admin) tabs.push(['people', 'People']);
  tabs.push(['limits', 'Limits']);
  if (can(me, 'servers:write')) tabs.push(['secrets', 'Secrets']);
  if (can(me, 'tools:read')) tabs.push(['files', 'Import and export']);
  if (admin && me?.tenant === 'default') tabs.push(['egress', 'Egress'], ['instance', 'Instance']);
  return (
    <>
      <Head title="Settings" />
      <Tabs label="Settings" now={tab} choose={setTab} tabs={tabs} />
      {tab === 'you' && me && <You me={me} />}
      {tab === 'connect' && <Connect />}
      {tab === 'keys' && <Keys />}
      {tab === 'people' && admin && <People />}
      {tab === 'limits' && <Limits />}
      {tab === 'secrets' && <Secrets />}
      {tab === 'files' && <Files />}
      {tab === 'egress' && <Egress />}
      {tab === 'instance' && <Instance />}
    </>
  );
}
