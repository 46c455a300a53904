import { Button, Modal } from '@mantine/core';
import { answer, useLeaving } from '../parts/unsaved';

// LeaveDialog asks before changes are discarded that are not saved.
export function LeaveDialog() {
  const leaving = useLeaving();
  return (
    <Modal opened={leaving !== null} onClose={() => answer(false)} title="Discard unsaved changes?">
      <div className="stack">
        <p className="soft">This page has changes that are not saved. If you leave it, they are lost.</p>
        <div className="acts">
          <Button color="red" onClick={() => answer(true)}>
            Discard changes
          </Button>
          <Button variant="default" data-autofocus onClick={() => answer(false)}>
            Keep editing
          </Button>
        </div>
      </div>
    </Modal>
  );
}
