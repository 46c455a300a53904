import { Button } from '@mantine/core';
import { absolute } from './format';

// CallPage is a page of calls. searched_to is set if the search ended before the page was full.
export type CallPage<T> = { items: T[]; next?: string; searched_to?: string };

// MoreCalls loads the next page of a list of calls, and says how far a search has come.
export function MoreCalls({ last, loading, load }: { last: CallPage<unknown> | undefined; loading: boolean; load: () => void }) {
  if (!last?.next) return null;
  return (
    <div className="pad center">
      {last.searched_to && <p className="small soft">Searched back to {absolute(new Date(last.searched_to))}.</p>}
      <Button variant="default" loading={loading} onClick={load}>
        {last.searched_to ? 'Continue the search' : 'Older calls'}
      </Button>
    </div>
  );
}
