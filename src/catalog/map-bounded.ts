/** Maps in order, with at most `limit` calls under way at once. Rejects with the first rejection. */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  limit: number,
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of left) results[index] = await map(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  return results;
}
