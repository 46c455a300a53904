import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { Copy } from './elements';

// TokenDialog shows the token of a key, which no later answer has. Only its button closes it.
export function TokenDialog({ token, close, children }: { token: string; close: () => void; children?: ReactNode }) {
  return (
    <Modal
      opened
      onClose={close}
      title="Copy the key now: it is shown only once"
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <div className="stack">
        {children}
        <div className="code">
          <pre style={{ paddingRight: '2.5rem' }}>{token}</pre>
          <div className="acts">
            <Copy value={token} label="Copy the key" />
          </div>
        </div>
        <Button onClick={close}>I saved the key</Button>
      </div>
    </Modal>
  );
}
