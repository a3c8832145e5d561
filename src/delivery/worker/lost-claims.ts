import type pg from 'pg'
import type { EventRange } from '../../database/index.js'
import { releaseClaims } from './release-claims.js'

const PAUSE_MS = 100
const PAUSE_MS_MAX = 5_000

/**
 * Claims that failed on this side but may have committed: the connection broke before the answer. None of their jobs
 * was sent and the token is this worker's own, so the jobs are released instead of waiting for their leases.
 */
export interface LostClaims {
  add(claim: { leaseToken: string; range: EventRange }): void
  /** Releases the leased jobs and returns their number. */
  giveBack(): Promise<number>
  /** Time until `giveBack` is due. */
  lookInMs(nowMs: number): number
}

export function createLostClaims(pool: pg.Pool, leaseMs: number): LostClaims {
  const lost = new Map<string, { range: EventRange; endsMs: number }>()
  let pauseMs = PAUSE_MS
  let dueAtMs = 0
  return {
    add({ leaseToken, range }) {
      lost.set(leaseToken, { range, endsMs: performance.now() + leaseMs })
      pauseMs = PAUSE_MS
      dueAtMs = 0
    },
    async giveBack() {
      if (lost.size === 0) return 0
      const askedAtMs = performance.now()
      const ranges = new Map([...lost.values()].map(({ range }) => [`${range.from} ${range.to}`, range]))
      const released: string[] = []
      for (const range of ranges.values())
        released.push(...(await releaseClaims(pool, range, [...lost.keys()])))
      // A claim is one transaction, so the jobs found are all of it. A claim not found may still be about to commit.
      for (const leaseToken of released) lost.delete(leaseToken)
      for (const [leaseToken, { endsMs }] of lost) if (endsMs < askedAtMs) lost.delete(leaseToken)
      dueAtMs = askedAtMs + pauseMs
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)
      return released.length
    },
    lookInMs: (nowMs) => (lost.size > 0 ? Math.max(0, dueAtMs - nowMs) : Number.POSITIVE_INFINITY),
  }
}
