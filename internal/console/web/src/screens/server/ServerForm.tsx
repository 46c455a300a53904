import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Server, ServerDetail } from '../../api/client';
import { parseEnv, splitCommand } from '../../parts/command';
import { lacks } from '../../parts/connection';
import { text } from '../../parts/edits';
import { Panel } from '../../parts/elements';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';
import { AuthFields } from './AuthFields';
import { Consent } from './Consent';
import { Advanced, Fields } from './Fields';
import { emptyShown, fieldsIn, fieldsOf, labels, patchOf, type ServerFields, serverKind, writtenValue, wrongFields } from './serverFields';

// ServerForm changes the settings of an upstream or generated server.
export function ServerForm({ s, may }: { s: ServerDetail; may: boolean }) {
  const cache = useQueryClient();
  const [agreed, setAgreed] = useState(false);
  const form = useEdits<Server, ServerFields>(s, fieldsOf);
  const { edit, fields: f } = form;
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/servers/${s.id}`],
    bodyOf: patchOf,
    done: () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]),
    labels,
    written: writtenValue,
  });
  const kind = serverKind(s);
  const patch = patchOf(f, form.base);
  const changed = Object.keys(patch).length > 0;
  const runs = patch.command !== undefined || patch.env !== undefined || patch.cwd !== undefined;
  const wrong = wrongFields(f, form.base);
  const problem = wrong[0] ? `${labels[wrong[0].pointer.split('/')[1] ?? '']}: ${wrong[0].message}` : patch.auth ? lacks(f.auth) : '';
  const lock = !may || saving.busy;
  const advanced = fieldsIn('advanced', kind);
  const common = {
    kind,
    fields: f,
    stored: form.stored,
    wrong,
    disabled: lock,
    placeholders: { title: s.id },
    change: (part: Partial<ServerFields>) => {
      // Whatever is run is agreed to as it is now.
      if ('command' in part || 'env' in part || 'cwd' in part) setAgreed(false);
      edit(part);
    },
  };
  const auth = <AuthFields draft={f.auth} change={(auth) => edit({ auth })} keyLabel={keyLabels[s.api?.key_in ?? '']} disabled={lock} />;

  return (
    <form
      className="stack"
      style={{ gap: '1.125rem' }}
      onSubmit={(e) => {
        e.preventDefault();
        saving.save();
      }}
    >
      <div className="columns">
        <Panel title="Connection" pad>
          <div className="stack">
            <Fields names={fieldsIn('connection', kind)} own={{ auth: <div className="stack">{auth}</div> }} {...common} />
            {runs && may && (
              <Consent
                words={splitCommand(String(f.command)).words}
                env={parseEnv(String(f.env)).env}
                checked={agreed}
                setChecked={setAgreed}
              />
            )}
          </div>
        </Panel>
        <Panel title={kind === 'generated' ? 'Tools' : 'Use'} pad>
          <div className="stack">
            <Fields names={fieldsIn('use', kind)} {...common} />
          </div>
        </Panel>
      </div>
      <Panel pad>
        <Advanced names={advanced} open={advanced.some((name) => text(form.stored[name]) !== text(emptyShown(name)))} {...common} />
      </Panel>
      {may && (
        <div className="acts">
          <Button type="submit" loading={saving.busy} disabled={!changed || !!problem || (runs && !agreed)}>
            Save
          </Button>
          <span className="small soft">
            {problem || (changed && kind !== 'generated' ? 'If the connection changes, Junctor tests it first.' : '')}
          </span>
        </div>
      )}
      {saving.error !== null && <ErrorCard error={saving.error} />}
      {saving.dialog}
    </form>
  );
}

// keyLabels name the place of an API key that is not a header.
const keyLabels: Record<string, string> = { query: 'Query parameter', cookie: 'Cookie' };
