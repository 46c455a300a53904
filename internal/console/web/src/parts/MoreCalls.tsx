import { Button } from '@mantine/core';
import { absolute, count } from './format';

// CallPage is a page of calls. searched_to is set if the search ended before the page was full.
// The first page has a total, which may be a minimum.
export type CallPage<T> = { items: T[]; next?: string; searched_to?: string; total?: number; total_is_minimum?: boolean };

// totalOf says how many calls match, as the first page has it; a search for a text has no number.
export const totalOf = (first: CallPage<unknown> | undefined): string => {
  if (!first?.total) return '';
  return `${count(first.total)}${first.total_is_minimum ? ' or more' : ''} ${first.total === 1 ? 'call' : 'calls'}`;
};

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
