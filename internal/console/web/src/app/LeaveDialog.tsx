import { Button, Modal } from '@mantine/core';
import { answer } from '../parts/unsaved';

// LeaveDialog asks before changes are discarded that are not saved.
export default function LeaveDialog() {
  return (
    <Modal opened onClose={() => answer(false)} title="Discard unsaved changes?">
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
