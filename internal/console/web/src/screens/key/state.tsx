import type { Key } from '../../api/client';
import { Tag } from '../../parts/elements';

const isSet = (at: string | undefined): at is string => at !== undefined && !at.startsWith('0001-');
const isPast = (at: string | undefined) => isSet(at) && Date.parse(at) <= Date.now();

export const keyIsLive = (k: Key): boolean => !isSet(k.revoked_at) && !isPast(k.expires_at);

const soon = 14 * 24 * 3_600_000;

// KeyState says whether a key works, unless it simply does.
export function KeyState({ k }: { k: Key }) {
  if (isSet(k.revoked_at)) return <Tag tone="bad">revoked</Tag>;
  if (isPast(k.expires_at)) return <Tag tone="bad">expired</Tag>;
  return (
    <>
      {isSet(k.expires_at) && Date.parse(k.expires_at) - Date.now() < soon && <Tag tone="warn">expires soon</Tag>}
      {isSet(k.former_until) && !isPast(k.former_until) && <Tag tone="act">rotated</Tag>}
    </>
  );
}
