import { Button, Modal } from '@mantine/core';
import { bytes } from '../parts/format';
import type { Question } from './state';

// ConfirmDialog has the person decide what an App may not do by itself.
export function ConfirmDialog({
  title,
  server,
  question,
  decide,
}: {
  title: string;
  server: string;
  question: Question;
  decide: (yes: boolean) => void;
}) {
  const link = question.kind === 'link';
  return (
    <Modal opened onClose={() => decide(false)} zIndex={400} title={link ? 'Open another site?' : 'Save files of the App?'}>
      <div className="stack">
        <p className="soft">
          The App “{title}” of the server {server} asks for this, not Junctor.
        </p>
        {link ? (
          <>
            <p>
              The link leads to <b className="wrap">{question.url.host}</b>:
            </p>
            <code className="wrap">{question.url.href}</code>
          </>
        ) : (
          <ul className="small" style={{ margin: 0, paddingLeft: '1.125rem' }}>
            {question.files.map((f, i) => (
              <li key={i} className="wrap">
                <b>{f.name}</b>{' '}
                <span className="soft">
                  {bytes(f.size)}
                  {f.type && `, ${f.type}`}
                </span>
              </li>
            ))}
          </ul>
        )}
        <div className="acts">
          <Button onClick={() => decide(true)}>{link ? 'Open in a new tab' : 'Save'}</Button>
          <Button variant="default" data-autofocus onClick={() => decide(false)}>
            {link ? 'Stay here' : 'Cancel'}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
