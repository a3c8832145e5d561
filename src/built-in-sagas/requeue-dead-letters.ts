import type pg from 'pg'
import { databaseErrorCode, inTransaction, isRowId, readEveryRange } from '../database/index.js'
import { checkFilter, type DeadLetterMatch } from '../delivery/index.js'
import { SagapostError } from '../errors/index.js'
import { startOwnSaga } from '../sagas/index.js'
import { defineRequeue, type RequeueInput } from './define-requeue.js'
import type { RequeueProgress } from './requeue-batch.js'

/** Dead letters per transaction: about 30 ms. */
const LETTERS_PER_BATCH = 500
/** Limit per request: planning it takes a few seconds and 8 MB of ids. */
const LETTERS_MAX = 500_000

/** migrations/0014: the saga and the batches of what its filter finds, or neither. */
const startRequeue = `
  SELECT saga_id, created, moment, input, answer FROM sagapost.start_dead_letter_requeue($1, $2, $3)`

/**
 * What a request would requeue: by the same indexes as the list, less what was requeued before, by uniq_saga_requeued_from.
 * (IS NOT NULL is said for the planner: the index has no other rows.)
 */
export const countDeadLetters = `
  SELECT count(*)::int AS matching FROM sagapost.dead_letters AS letter
  WHERE ($1::bigint IS NULL OR subscription_id = $1)
    AND ($2::text IS NULL OR event_type = $2)
    AND ($3::text IS NULL OR final_error_code = $3)
    AND ($4::timestamptz IS NULL OR failed_at >= $4)
    AND ($5::timestamptz IS NULL OR failed_at < $5)
    AND NOT EXISTS (
      SELECT FROM sagapost.webhook_delivery_sagas AS heir
      WHERE heir.requeued_from = letter.id AND heir.event_id = letter.event_id AND heir.requeued_from IS NOT NULL
        /* range of heir.event_id */)
    /* range of letter.event_id */`

export interface RequeueFilter extends DeadLetterMatch {
  /** Requeues every dead letter. Required when no filter is given, refused when one is. */
  all?: true | undefined
}

export interface StartedRequeue {
  sagaId: string
  /** The dead letters that match the filter now and have not been requeued. */
  matching: number
  /** False when an earlier request with the same key started the saga. */
  created: boolean
}

/** Starting the saga needs only its shape; the part `sagas` runs it. */
const shape = defineRequeue({
  requeueBatch: () => Promise.reject(new Error('not run here')),
  discard: () => Promise.reject(new Error('not run here')),
  isStopping: () => false,
})

/**
 * Starts the saga that requeues the dead letters that match the filter, under the role dead_letter_operator. Throws
 * `requeue_filter_empty`, `requeue_too_large`, `query_invalid`, `event_type_invalid`, or an error of the idempotency
 * key.
 */
export async function requeueDeadLetters(
  pool: pg.Pool,
  filter: RequeueFilter,
  { idempotencyKey, requestedBy }: { idempotencyKey?: string | undefined; requestedBy?: string } = {},
): Promise<StartedRequeue> {
  const input = readFilter(filter)
  const statement = { sql: startRequeue, values: [LETTERS_PER_BATCH, LETTERS_MAX] }
  try {
    // A refusal is a normal outcome: rolling back keeps the connection.
    const { sagaId, created, answer } = await inTransaction(pool, (client) =>
      startOwnSaga<RequeueProgress>(client, statement, shape, input, {
        ...(idempotencyKey === undefined ? {} : { key: idempotencyKey }),
        ...(requestedBy === undefined ? {} : { metadata: { requestedBy } }),
      }),
    )
    return { sagaId, created, matching: answer.matching }
  } catch (error) {
    const code = databaseErrorCode(error)
    throw code === 'requeue_too_large'
      ? new SagapostError(code, (error as Error).message, { cause: error })
      : error
  }
}

/** Counts the matching dead letters, under the role saga_readonly_role. */
export async function countMatching(pool: pg.Pool, filter: RequeueFilter): Promise<number> {
  const { subscriptionId, eventType, errorCode, from, to } = readFilter(filter)
  const rows = await readEveryRange<{ matching: number }>(pool, countDeadLetters, [
    subscriptionId ?? null,
    eventType ?? null,
    errorCode ?? null,
    from ?? null,
    to ?? null,
  ])
  return rows.reduce((sum, { matching }) => sum + matching, 0)
}

/** A filter that is empty by mistake, such as from an unset variable, must not requeue everything. */
function readFilter({ subscriptionId, eventType, errorCode, from, to, all }: RequeueFilter): RequeueInput {
  checkFilter({ eventType, errorCode, from, to })
  if (subscriptionId !== undefined && !isRowId(subscriptionId)) {
    throw new SagapostError('query_invalid', 'subscriptionId must be the id of a subscription')
  }
  const given: RequeueInput = {
    ...(subscriptionId === undefined ? {} : { subscriptionId }),
    ...(eventType === undefined ? {} : { eventType }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(from === undefined ? {} : { from: from.toISOString() }),
    ...(to === undefined ? {} : { to: to.toISOString() }),
  }
  const empty = Object.keys(given).length === 0
  if (all === true && !empty) {
    throw new SagapostError('query_invalid', 'all means every dead letter: give nothing else with it')
  }
  if (empty && all !== true) {
    throw new SagapostError(
      'requeue_filter_empty',
      'the filter is empty: say which dead letters, or all: true for every one',
    )
  }
  return empty ? { all: true } : given
}
