import { Button, Modal } from '@mantine/core';

// SessionDialog is over a page whose session has ended, until somebody has signed in beside it.
export default function SessionDialog({ signIn, look }: { signIn: string; look: () => void }) {
  return (
    <Modal
      opened
      onClose={() => {}}
      withCloseButton={false}
      title="Your session has ended"
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      <div className="stack">
        <p className="soft">This page keeps what you typed. Sign in on a new tab, and this tab continues.</p>
        <div className="acts">
          <Button component="a" href={signIn} target="_blank" rel="noopener">
            Sign in
          </Button>
          <Button variant="default" onClick={look}>
            I have signed in
          </Button>
        </div>
      </div>
    </Modal>
  );
}
