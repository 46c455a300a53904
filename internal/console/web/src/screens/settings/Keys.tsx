import { useKeys } from '../../api/data';
import { Panel } from '../../parts/elements';
import { QueryContent } from '../../parts/states';
import { KeyRows } from '../KeyRows';

export function Keys() {
  const keys = useKeys();
  return (
    <Panel>
      <QueryContent query={keys}>{(all) => <KeyRows keys={all} />}</QueryContent>
    </Panel>
  );
}
