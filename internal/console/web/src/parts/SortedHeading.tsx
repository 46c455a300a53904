// SortedHeading is the heading of a column that the server can sort a list by. A click
// sorts by it, and a second one in the other order. first is the order without a choice.
export function SortedHeading({
  name,
  by,
  sort,
  setSort,
  first = false,
  className,
}: {
  name: string;
  by: string;
  sort: string;
  setSort: (sort: string) => void;
  first?: boolean;
  className?: string;
}) {
  const now = sort === `-${by}` ? 'descending' : sort === by || (first && !sort) ? 'ascending' : 'none';
  return (
    <th className={className} aria-sort={now}>
      <button type="button" className="sorted" onClick={() => setSort(now === 'ascending' ? `-${by}` : by)}>
        {name}
        <span aria-hidden>{now === 'ascending' ? ' ↑' : now === 'descending' ? ' ↓' : ''}</span>
      </button>
    </th>
  );
}
