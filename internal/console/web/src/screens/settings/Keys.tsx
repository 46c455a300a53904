import { useKeys } from '../../api/data';
import { Panel } from '../../parts/bits';
import { Shown } from '../../parts/states';
import { KeyRows } from '../KeyRows';

export function Keys() {
  const keys = useKeys();
  return (
    <Panel>
      <Shown query={keys}>{(all) => <KeyRows keys={all} />}</Shown>
    </Panel>
  );
}
