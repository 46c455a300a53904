import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type User, userPath, useTiers } from '../../api/admin';
import { useMe } from '../../api/data';
import { Confirm } from '../../parts/Confirm';
import { Ago, Panel, Tag } from '../../parts/elements';
import { faultsOf, unplaced } from '../../parts/faults';
import { Principal } from '../../parts/Principal';
import { roleMeanings, roleScopes, roles, scopeMeanings } from '../../parts/roles';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';

type Fields = Pick<User, 'name' | 'role' | 'tier' | 'sources'>;
const fieldsOf = ({ name, role, tier, sources }: User): Fields => ({ name, role, tier, sources });

export function UserDetails({ u }: { u: User }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const tiers = useTiers();
  const form = useEdits(u, fieldsOf);
  const f = form.fields;
  const [asked, setAsked] = useState(false);
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', userPath(u.id)],
    bodyOf: (fields) => fields,
    done: (stored) => {
      setAsked(false);
      cache.setQueryData(['users', u.id], stored);
      const lists = ['users', 'admin-changes', ...(u.id === me?.user ? ['me'] : [])];
      return Promise.all(lists.map((list) => cache.invalidateQueries({ queryKey: [list] })));
    },
    labels: { sources: 'default endpoint' },
  });
  const faults = faultsOf(saving.error, ['name', 'role', 'tier', 'sources'], 'name');
  const roleChanges = form.edited.includes('role');
  const lost = roleScopes[form.stored.role].filter((s) => !roleScopes[f.role].includes(s));
  return (
    <div className="columns wide-left">
      <Panel title="Account" pad>
        <form
          className="stack"
          onSubmit={(e) => {
            e.preventDefault();
            if (roleChanges) setAsked(true);
            else saving.save();
          }}
        >
          <TextInput
            label="Name"
            description="The name to sign in with."
            maxLength={100}
            value={f.name}
            error={faults.name}
            onChange={(e) => form.edit({ name: e.currentTarget.value })}
          />
          <NativeSelect
            label="Role"
            description={roleMeanings[f.role]}
            value={f.role}
            data={[...roles]}
            onChange={(e) => form.edit({ role: e.currentTarget.value as User['role'] })}
          />
          <NativeSelect
            label="Tier"
            description="Sets the limits of the user’s calls."
            value={f.tier}
            data={[...new Set([f.tier, ...(tiers.data ?? [])])]}
            onChange={(e) => form.edit({ tier: e.currentTarget.value })}
          />
          <NativeSelect
            label="Tools at the user’s default endpoint"
            description="In addition to built-in tools."
            value={f.sources}
            data={[
              { value: 'both', label: 'All' },
              { value: 'bring-your-own', label: 'Upstream servers' },
              { value: 'auto-generated', label: 'Generated servers' },
            ]}
            onChange={(e) => form.edit({ sources: e.currentTarget.value as User['sources'] })}
          />
          {unplaced(saving.error, faults) && !asked ? <ErrorCard error={saving.error} /> : null}
          <div className="acts">
            <Button type="submit" disabled={form.edited.length === 0 || !f.name.trim()} loading={saving.busy}>
              Save
            </Button>
            {form.edited.length > 0 && (
              <Button variant="default" onClick={() => form.reset()}>
                Reset
              </Button>
            )}
          </div>
        </form>
        {asked && (
          <Confirm
            title={`Change the role of ${u.name} to ${f.role}?`}
            act="Change role"
            harmless={lost.length === 0}
            of={{ isPending: saving.busy, error: saving.error }}
            run={saving.save}
            close={() => setAsked(false)}
          >
            <p>{roleMeanings[f.role]}</p>
            <p>The change applies at once to all sessions and keys of the user.</p>
            {lost.length > 0 && <p>Scopes that they lose: {lost.join(', ')}.</p>}
            {u.id === me?.user && lost.length > 0 && <p>This is your own account: you cannot undo this yourself.</p>}
          </Confirm>
        )}
        {saving.dialog}
      </Panel>
      <div className="stack" style={{ gap: '1.125rem' }}>
        <Panel title="Facts" pad>
          <dl className="facts">
            <dt>Added</dt>
            <dd>
              <Ago at={u.created_at} />
            </dd>
            <dt>Changed</dt>
            <dd>
              <Ago at={u.updated_at} />
              {u.updated_by && (
                <>
                  {' '}
                  by <Principal id={u.updated_by} />
                </>
              )}
            </dd>
          </dl>
        </Panel>
        <Panel title={`Scopes of the role ${u.role}`}>
          <div className="rows">
            {roleScopes[u.role].map((s) => (
              <div key={s}>
                <span className="grow small">{scopeMeanings[s]}</span> <Tag>{s}</Tag>
              </div>
            ))}
          </div>
        </Panel>
      </div>
    </div>
  );
}
