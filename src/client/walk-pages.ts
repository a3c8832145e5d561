/** The largest page size of the API. */
const PAGE_ITEMS = 200

interface Page<Item> {
  data: Item[]
  nextCursor: string | null
}

/** Every item of a list, newest first. Pages are fetched on demand. */
export async function* walkPages<Item>(
  list: (page: { limit: number; cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  let cursor: string | null | undefined
  do {
    const page: Page<Item> = await list({ limit: PAGE_ITEMS, ...(cursor ? { cursor } : {}) })
    yield* page.data
    cursor = page.nextCursor
  } while (cursor !== null)
}
