import { Button } from '@mantine/core';
import { Copy } from '../../parts/elements';
import { Code } from '../../parts/Json';
import { webhookURL } from './webhookURL';

// NewSecret is a secret that was made, this once.
export function NewSecret({ id, path = '', secret, close }: { id: string; path?: string; secret: string; close: () => void }) {
  return (
    <div className="stack">
      <p>
        Messages of <b>{id}</b> are signed with this secret. Copy it now: it is shown only once.
      </p>
      <Code label="Copy the secret">{secret}</Code>
      <dl className="facts">
        <dt>Webhook URL</dt>
        <dd className="row">
          <code className="wrap">{webhookURL(path)}</code> <Copy value={webhookURL(path)} label="Copy the URL" />
        </dd>
      </dl>
      <div className="acts">
        <Button onClick={close}>I saved the secret</Button>
      </div>
    </div>
  );
}
