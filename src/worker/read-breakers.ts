import type pg from 'pg'
import type { BreakerPolicy } from './note-outcomes.js'

export interface Breakers {
  /** Subscriptions whose last outcome was a failure. */
  failing: ReadonlySet<string>
  /** Those that are paused. */
  open: ReadonlySet<string>
  /** A probe is due for at least one. */
  probeDue: boolean
}

// The whole table: it holds failing subscriptions only.
const selectBreakers = `
  SELECT subscription_id, opened_at > sagapost.now() - $1 * interval '1 millisecond' AS open,
         probe_at <= sagapost.now() AS probe_due
  FROM sagapost.subscription_breakers`

export async function readBreakers(pool: pg.Pool, { pauseMsMax }: BreakerPolicy): Promise<Breakers> {
  const { rows } = await pool.query<{
    subscription_id: string
    open: boolean | null
    probe_due: boolean | null
  }>(selectBreakers, [pauseMsMax])
  const open = rows.filter((row) => row.open)
  return {
    failing: new Set(rows.map(({ subscription_id }) => subscription_id)),
    open: new Set(open.map(({ subscription_id }) => subscription_id)),
    probeDue: open.some(({ probe_due }) => probe_due),
  }
}

// The row lock gives each probe to one worker; the others find it no longer due.
const takeDueProbes = `
  UPDATE sagapost.subscription_breakers SET probe_at = sagapost.now() + $1 * interval '1 millisecond'
  WHERE probe_at <= sagapost.now() AND opened_at > sagapost.now() - $2 * interval '1 millisecond'
  RETURNING subscription_id`

/** The subscriptions that this worker, and no other, shall try with one delivery now. */
export async function takeProbes(pool: pg.Pool, policy: BreakerPolicy): Promise<string[]> {
  const { rows } = await pool.query<{ subscription_id: string }>(takeDueProbes, [
    policy.probeEveryMs,
    policy.pauseMsMax,
  ])
  return rows.map(({ subscription_id }) => subscription_id)
}
