import type pg from 'pg'

/** Ids examined per statement: few enough that its snapshot does not hold up VACUUM. */
const IDS_PER_CALL = 100_000

const requeueSetAside = 'SELECT requeued::int, gone::int FROM sagapost.requeue_set_aside_events()'
const requeueLost = 'SELECT requeued::int, next_from FROM sagapost.requeue_lost_events($1, $2)'

export interface RequeuedEvents {
  /** Events that had been set aside. */
  setAside: number
  /** Events that were set aside and are no longer stored: nothing can be delivered. */
  gone: number
  /** Events that were neither routed nor queued. */
  lost: number
}

/**
 * [R1] Puts events that were set aside, or lost before routing, back into the routing queue. Repeatable: an event that
 * is routed again reaches only the subscriptions that miss it [R3]. Under the role dead_letter_operator.
 */
export async function requeueEvents(pool: pg.Pool): Promise<RequeuedEvents> {
  const { rows: aside } = await pool.query<{ requeued: number; gone: number }>(requeueSetAside)
  let lost = 0
  for (let from: string | null = '0'; from !== null; ) {
    const { rows }: pg.QueryResult<{ requeued: number; next_from: string | null }> = await pool.query(
      requeueLost,
      [from, IDS_PER_CALL],
    )
    lost += rows[0]?.requeued ?? 0
    from = rows[0]?.next_from ?? null
  }
  return { setAside: aside[0]?.requeued ?? 0, gone: aside[0]?.gone ?? 0, lost }
}
