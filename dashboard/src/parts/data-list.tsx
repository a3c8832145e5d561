import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { List } from '../api/index.js'
import { EmptyState, ProblemNotice, Skeleton } from './notices.js'

export interface Column<Item> {
  title: string
  cell: (item: Item) => ReactNode
  /** Hidden on narrow screens. */
  wide?: boolean
  right?: boolean
  /** Takes the remaining width and truncates. `narrow`: only on narrow screens. */
  grow?: boolean | 'narrow'
}

interface DataListProps<Item> {
  label: string
  list: List<Item>
  columns: readonly Column<Item>[]
  keyOf: (item: Item) => string
  /** The page that a row opens; its first cell is the link. */
  hrefOf: (item: Item) => string
  empty: ReactNode
}

/** A list as a table. j and k move between rows (use-keys.ts), Enter opens one. */
export function DataList<Item>({ label, list, columns, keyOf, hrefOf, empty }: DataListProps<Item>) {
  if (list.error && list.items.length === 0) return <ProblemNotice error={list.error} />
  return (
    <section className="panel overflow-hidden" aria-label={label} aria-busy={list.isLoading}>
      {list.isLoading ? (
        <Skeleton rows={8} />
      ) : list.items.length === 0 && !list.hasMore ? (
        empty
      ) : (
        <>
          {list.error && <ProblemNotice error={list.error} />}
          <table className="w-full table-auto border-collapse">
            <thead>
              <tr className="border-b border-line text-left text-xs text-faint">
                {columns.map(({ title, wide, right }) => (
                  <th
                    key={title}
                    className={`px-2 py-2 font-medium first:pl-3 last:pr-3 sm:px-3 whitespace-nowrap ${visibility(wide)} ${right ? 'text-right' : ''}`}
                  >
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {list.items.map((item) => (
                <tr
                  key={keyOf(item)}
                  className="relative border-b border-line last:border-0 focus-within:bg-accent-wash hover:bg-raised"
                >
                  {columns.map(({ title, cell, wide, right, grow }, index) => (
                    <td
                      key={title}
                      className={`h-9 px-2 py-1.5 first:pl-3 last:pr-3 sm:px-3 ${visibility(wide)} ${right ? 'text-right' : ''} ${width(grow)}`}
                    >
                      {index === 0 ? (
                        <Link
                          href={hrefOf(item)}
                          data-row-link
                          className="mono font-medium after:absolute after:inset-0 focus-visible:outline-none"
                        >
                          {cell(item)}
                        </Link>
                      ) : (
                        cell(item)
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {list.hasMore && (
            <div className="flex items-center justify-between gap-3 border-t border-line px-3 py-2">
              <span className="text-soft">
                {list.items.length === 0
                  ? 'No results so far; older pages may have some'
                  : `${list.items.length} shown`}
              </span>
              <button type="button" className="button" onClick={list.more} disabled={list.isLoadingMore}>
                {list.isLoadingMore ? 'Loading …' : 'Show more'}
              </button>
            </div>
          )}
        </>
      )}
    </section>
  )
}

function width(grow: Column<unknown>['grow']): string {
  if (grow === 'narrow') return 'w-full max-w-0 truncate lg:w-auto lg:max-w-72'
  return grow ? 'w-full max-w-0 truncate' : 'whitespace-nowrap'
}

function visibility(wide = false): string {
  return wide ? 'hidden lg:table-cell' : ''
}

export function NothingFound({
  filtered,
  title,
  children,
}: {
  filtered: boolean
  title: string
  children?: ReactNode
}) {
  return filtered ? (
    <EmptyState title="Nothing matches">Try other filters.</EmptyState>
  ) : (
    <EmptyState title={title}>{children}</EmptyState>
  )
}
