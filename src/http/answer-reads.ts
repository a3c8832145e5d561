import { type HttpErrorCode, refuse } from './problem.js'

export const queryRefusals = ['query_invalid', 'event_type_invalid'] as const

export function withTimes<Query extends { from?: string | undefined; to?: string | undefined }>(
  query: Query,
) {
  const { from, to, ...rest } = query
  return { ...rest, from: from && new Date(from), to: to && new Date(to) } as Omit<Query, 'from' | 'to'> & {
    from: Date | undefined
    to: Date | undefined
  }
}

export function required<Found>(found: Found | null, code: HttpErrorCode, what: string, id: string): Found {
  if (found === null) throw refuse(code, `there is no ${what} ${id.slice(0, 40)}`)
  return found
}

/** Already JSON. */
export function asItIs(text: unknown): string {
  return text as string
}
