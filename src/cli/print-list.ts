import pc from 'picocolors'
import type { Page, PageRequest } from '../client/index.js'
import type { ListOptions } from './add-verb.js'
import { createTable, type Row } from './format-table.js'
import { complain, type Terminal } from './terminal.js'
import { toJson } from './to-json.js'

/** The number of rows printed together with --all. */
const CHUNK_ROWS = 200

export interface Listing<Item> {
  options: ListOptions
  list: (page: PageRequest) => Promise<Page<Item>>
  all: () => AsyncIterable<Item>
  titles: readonly string[]
  row: (item: Item) => Row
  /** The message for an empty list. */
  empty: string
}

/** Prints one page, or all pages with --all, as a table, or with --json in the API's format. */
export async function printList<Item>(terminal: Terminal, listing: Listing<Item>): Promise<void> {
  const { json, limit, cursor, all } = listing.options
  if (all) return json ? printAllAsJson(terminal, listing.all()) : printAllAsTable(terminal, listing)
  const page = await listing.list({
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  })
  if (json) return print(terminal, toJson(page))
  const { data, nextCursor } = page
  if (data.length > 0) await print(terminal, createTable(listing.titles)(data.map(listing.row)))
  else if (nextCursor === null) await print(terminal, listing.empty)
  if (nextCursor === null) return
  // To stderr, as the rows may go into a pipe.
  const more = data.length > 0 ? 'More results' : 'No results so far; there may be more'
  complain(terminal, pc.dim(`${more}: --all, or --cursor ${nextCursor}`))
}

async function printAllAsTable<Item>(
  terminal: Terminal,
  { all, titles, row, empty }: Listing<Item>,
): Promise<void> {
  const format = createTable(titles)
  let rows: Row[] = []
  let count = 0
  for await (const item of all()) {
    rows.push(row(item))
    count += 1
    if (rows.length < CHUNK_ROWS) continue
    await print(terminal, format(rows))
    rows = []
  }
  if (rows.length > 0) await print(terminal, format(rows))
  if (count === 0) await print(terminal, empty)
}

/** Item by item, so that the list need not fit in memory. */
async function printAllAsJson(terminal: Terminal, items: AsyncIterable<unknown>): Promise<void> {
  let before = '{"data":['
  for await (const item of items) {
    await write(terminal, before + toJson(item))
    before = ','
  }
  await write(terminal, `${before === ',' ? '' : before}],"nextCursor":null}\n`)
}

export function print(terminal: Terminal, text: string): Promise<void> {
  return write(terminal, `${text}\n`)
}

/** Waits for a slow reader; a reader that closes the pipe, such as `head`, is not an error. */
function write({ stdout }: Terminal, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => {
      if ((error as NodeJS.ErrnoException | null)?.code === 'EPIPE') process.exit(0)
      if (error) reject(error)
      else resolve()
    })
  })
}
