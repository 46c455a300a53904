import { Button } from '@mantine/core';

// NextPage asks for the next page of a list, where there is one.
export function NextPage({ pages }: { pages: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  if (!pages.hasNextPage) return null;
  return (
    <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => pages.fetchNextPage()}>
      More
    </Button>
  );
}
