/** The largest page that the API gives. */
const PAGE_ITEMS = 200

interface Page<Item> {
  data: Item[]
  nextCursor: string | null
}

/** Every item of a list, newest first, page by page as they are asked for. */
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
