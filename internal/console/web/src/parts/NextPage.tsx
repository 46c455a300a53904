import { Button } from '@mantine/core';
import { useEffect, useRef } from 'react';

// NextPage asks for the next page of a list, where there is one. With near, it does so by
// itself when the end of the list comes near.
export function NextPage({
  pages,
  near = false,
}: {
  pages: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
  near?: boolean;
}) {
  const end = useRef<HTMLButtonElement>(null);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  useEffect(() => {
    const button = end.current;
    if (!near || !button || isFetchingNextPage) return;
    const seen = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && fetchNextPage(), { rootMargin: '1200px' });
    seen.observe(button);
    return () => seen.disconnect();
  }, [near, isFetchingNextPage, fetchNextPage]);
  if (!hasNextPage) return null;
  return (
    <Button ref={end} variant="default" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
      More
    </Button>
  );
}
