import { Button, NativeSelect, Switch } from '@mantine/core';
import { ArrowRight, LogIn } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { type AttentionItem, type Severity, useAttention, useAttentionPages, useNotifications } from '../api/attention';
import type { Schemas } from '../api/client';
import { AllIsWell, SeverityIcon, severityNames } from '../parts/AttentionSummary';
import { Ago, Copy, Head, Panel, Tag } from '../parts/elements';
import { NextPage } from '../parts/NextPage';
import { canNotify } from '../parts/notifications';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';

const severities: Severity[] = ['critical', 'warning', 'info'];

const kinds: Record<AttentionItem['kind'], string> = {
  approval: 'Approvals',
  certificate: 'Certificates',
  check: 'Checks',
  delivery: 'Dead letters',
  disk: 'Disk space',
  endpoint: 'Endpoints',
  journal: 'Journal',
  key: 'Keys',
  policy: 'Rules',
  redis: 'Redis',
  replica: 'Replicas',
  server: 'Servers',
  settings: 'Settings file',
  tools: 'Changed tools',
};

const openNames: Partial<Record<AttentionItem['kind'], string>> = {
  approval: 'Open the room',
  delivery: 'Open dead letters',
  endpoint: 'Open endpoints',
  journal: 'Open the journal',
  key: 'Open keys',
  policy: 'Open the rule',
  server: 'Open the server',
  tools: 'Review the tools',
};

export default function AttentionPage() {
  const [severity, setSeverity] = useParam('severity');
  const [kind, setKind] = useParam('kind');
  const now = useAttention();
  const pages = useAttentionPages(severity, kind);
  const all = pages.all ?? [];
  const filtered = severity !== '' || kind !== '';
  const credentials = kind === '' && (severity === '' || severity === 'warning') ? now.credentials : [];
  const error = pages.error ?? now.error;
  return (
    <>
      <Head title="Needs attention" sub="Problems and open approvals, the most urgent first. An item goes away when its cause does.">
        <Notifications />
      </Head>
      <div className="row">
        <div className="row plain counts">
          {severities.map((s) => (
            <button
              key={s}
              type="button"
              className="count-filter"
              aria-pressed={severity === s}
              onClick={() => setSeverity(severity === s ? '' : s)}
            >
              <SeverityIcon severity={s} size={15} /> <b className="num">{now.counts[s]}</b> {severityNames[s].toLowerCase()}
            </button>
          ))}
        </div>
        <NativeSelect
          aria-label="Kind"
          value={kind}
          onChange={(e) => setKind(e.currentTarget.value)}
          data={[{ value: '', label: 'All kinds' }, ...Object.entries(kinds).map(([value, label]) => ({ value, label }))]}
        />
        {now.checkedAt && (
          <span className="small soft">
            checked <Ago at={now.checkedAt} />
          </span>
        )}
      </div>
      {error ? <ErrorCard error={error} retry={() => void pages.refetch()} /> : null}
      <Panel>
        {all.length + credentials.length > 0 ? (
          <ul className="attention" aria-label="Items">
            {all.map((i) => (
              <Item key={i.id} i={i} />
            ))}
            {credentials.map((c) => (
              <Credential key={c.server} c={c} />
            ))}
          </ul>
        ) : pages.isPending ? (
          <Loading />
        ) : error ? (
          <Empty title="The list cannot be read">Until it can, nobody knows whether something needs attention.</Empty>
        ) : filtered ? (
          <Empty title="No item matches">Clear the filters to see all items.</Empty>
        ) : (
          <AllIsWell a={now} />
        )}
      </Panel>
      <NextPage pages={pages} />
    </>
  );
}

function Item({ i }: { i: AttentionItem }) {
  return (
    <li>
      <SeverityIcon severity={i.severity} />
      <div className="grow">
        <p className="row">
          <Link href={i.console} className="link">
            {i.object.name}
          </Link>
          <Tag>{i.object.kind}</Tag>
          {i.replica && <Tag>replica {i.replica}</Tag>}
          <span className="small soft">
            <Ago at={i.since} />
          </span>
        </p>
        <p className="wrap">{i.problem}</p>
        {i.advice && <p className="small soft wrap">{i.advice}</p>}
        <p className="row plain small">
          <code className="soft cut">{i.command}</code>
          <Copy value={i.command} label="Copy the command" />
        </p>
      </div>
      <Button component={Link} href={i.console} size="compact-sm" variant="default" rightSection={<ArrowRight size={13} />}>
        {(i.object.kind === 'server' ? openNames.server : openNames[i.kind]) ?? 'Open'}
      </Button>
    </li>
  );
}

function Credential({ c }: { c: Schemas['MyCredential'] }) {
  const at = `/servers/${c.server}?tab=sign-in`;
  return (
    <li>
      <LogIn size={16} color="var(--warn)" role="img" aria-label="Warning" />
      <div className="grow">
        <p className="row">
          <Link href={at} className="link">
            {c.server}
          </Link>
          <Tag>your credentials</Tag>
        </p>
        <p className="wrap">{c.problem || 'The server requires your credentials.'}</p>
      </div>
      <Button component={Link} href={at} size="compact-sm" variant="default" rightSection={<ArrowRight size={13} />}>
        Enter credentials
      </Button>
    </li>
  );
}

// Notifications is the choice to be notified by the browser. The browser asks for the
// permission when the user turns the switch on, and not before.
function Notifications() {
  const [on, setOn] = useNotifications();
  const [refused, setRefused] = useState('');
  const able = canNotify();
  const active = on && able && Notification.permission === 'granted';
  const turn = async (to: boolean) => {
    setRefused('');
    if (to && (await Notification.requestPermission()) !== 'granted') {
      setRefused('This browser refuses notifications. Allow them in its settings for this site.');
      return;
    }
    setOn(to);
  };
  return (
    <div>
      <Switch
        label="Browser notifications"
        description={
          able ? 'For new warnings and critical items, while a tab of the console is open' : 'Available with HTTPS or on this machine only'
        }
        checked={active}
        disabled={!able}
        error={refused}
        onChange={(e) => void turn(e.currentTarget.checked)}
      />
    </div>
  );
}
