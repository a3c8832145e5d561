import type pg from 'pg'
import { prepared } from '../../database/index.js'
import type { BreakerPolicy } from './note-outcomes.js'

export interface OpenBreakers {
  /** Subscriptions whose last outcome was a failure. */
  failing: ReadonlySet<string>
  /** Subscriptions whose breaker is open. */
  open: ReadonlySet<string>
  /** A probe is due for at least one subscription. */
  probeDue: boolean
}

// The whole table: it holds failing subscriptions only.
const selectBreakers = prepared(`
  SELECT subscription_id, paused_until > sagapost.now() AS open, probe_at <= sagapost.now() AS probe_due
  FROM sagapost.subscription_breakers`)

export async function readOpenBreakers(pool: pg.Pool): Promise<OpenBreakers> {
  const { rows } = await pool.query<{
    subscription_id: string
    open: boolean | null
    probe_due: boolean | null
  }>(selectBreakers)
  const open = rows.filter((row) => row.open)
  return {
    failing: new Set(rows.map(({ subscription_id }) => subscription_id)),
    open: new Set(open.map(({ subscription_id }) => subscription_id)),
    probeDue: open.some(({ probe_due }) => probe_due),
  }
}

// The row lock gives each probe to one worker; the others pass over it, and then find it no longer due. Those that have
// waited longest first: with more of them than slots, each has its turn. They are few, so that sorting costs nothing.
const takeDueProbes = `
  WITH due AS MATERIALIZED (
    SELECT subscription_id FROM sagapost.subscription_breakers
    WHERE probe_at <= sagapost.now() AND paused_until > sagapost.now()
    ORDER BY probe_at LIMIT $2 FOR UPDATE SKIP LOCKED
  )
  UPDATE sagapost.subscription_breakers AS breaker SET probe_at = sagapost.now() + $1 * interval '1 millisecond'
  FROM due WHERE breaker.subscription_id = due.subscription_id
  RETURNING breaker.subscription_id`

/** The subscriptions that this worker alone probes now with one delivery each, at most one per free slot. */
export async function takeProbes(pool: pg.Pool, policy: BreakerPolicy, most: number): Promise<string[]> {
  const { rows } = await pool.query<{ subscription_id: string }>(takeDueProbes, [policy.probeEveryMs, most])
  return rows.map(({ subscription_id }) => subscription_id)
}
