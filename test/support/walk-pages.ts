import { expect } from 'vitest'
import type { Page } from '../../src/database/index.js'

/** Everything that a list has, page by page; no page is longer than asked for, or empty where that is not expected. */
export async function walkPages<Item>(
  list: (filter: object) => Promise<Page<Item>>,
  filter: { limit: number; [name: string]: unknown },
  { mayBeEmpty = false } = {},
): Promise<Item[]> {
  const seen: Item[] = []
  let cursor: string | undefined
  do {
    const page = await list({ ...filter, cursor })
    if (!mayBeEmpty) expect(page.data.length).toBeGreaterThan(0)
    expect(page.data.length).toBeLessThanOrEqual(filter.limit)
    seen.push(...page.data)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return seen
}
