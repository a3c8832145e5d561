import type pg from 'pg'
import type { LoadTally } from '../load/load-tally.js'

// By primary key. 3 is Completed, 5 Compensated.
const wrongSagas = `
  SELECT wanted.saga_order, saga.state, coalesce(effects.booked, 0) AS booked
  FROM unnest($1::text[], $2::bigint[]) AS wanted (id, saga_order)
  LEFT JOIN sagapost.saga_instances AS saga ON saga.id = wanted.id
  LEFT JOIN (
    SELECT saga_order, count(*)::int AS booked FROM public.fault_effects GROUP BY saga_order
  ) AS effects ON effects.saga_order = wanted.saga_order
  WHERE saga.state IS NULL OR saga.state NOT IN (3, 5) OR coalesce(effects.booked, 0) <> 1`

/** Every saga that was started is there, has ended as it should, and its transaction step has written once. */
export async function checkSagas(owner: pg.Pool, { sagasStarted }: LoadTally): Promise<string[]> {
  const { rows } = await owner.query<{ saga_order: string; state: number | null; booked: number }>(
    wrongSagas,
    [[...sagasStarted.values()], [...sagasStarted.keys()]],
  )
  return rows.map(
    ({ saga_order, state, booked }) => `order ${saga_order} is in state ${state}, booked ${booked} times`,
  )
}
