import type { Invariant } from './invariant.js'

// Every change of a general saga is written with its events in one transaction, so all of this holds at any moment. An
// event without a sequence was not written by a coordinator, and is skipped. Where saga_events is
// partitioned by time, retention may have taken the beginning of a history: then only the rest is looked at.

const sagaHistoryWithoutGaps = `
  SELECT saga.id, format('%s events from %s to %s, and %s by its own count', count(event.sequence), min(event.sequence),
           max(event.sequence), saga.event_count) AS detail, count(*) OVER () AS total
  FROM sagapost.saga_instances AS saga
  LEFT JOIN sagapost.saga_events AS event ON event.saga_id = saga.id AND event.sequence IS NOT NULL
  GROUP BY saga.id
  HAVING count(event.sequence) <> coalesce(max(event.sequence) - min(event.sequence) + 1, 0)
    OR count(DISTINCT event.sequence) <> count(event.sequence)
    OR (coalesce(max(event.sequence), 0) <> saga.event_count
        OR coalesce(min(event.sequence), 1) <> 1)
      AND NOT ((SELECT relkind = 'p' FROM pg_class WHERE oid = 'sagapost.saga_events'::regclass)
               AND coalesce(max(event.sequence), saga.event_count) = saga.event_count)
  LIMIT $1`

// Each event begins where the one before it, about the same saga or step, has ended; the first where all begin.
const sagaHistoryFollowsItself = `
  SELECT saga_id AS id, format('event %s (%s) of step %L leaves state %s, but the one before it ended in %s', sequence,
           event_type, step_index, old_state, before) AS detail, count(*) OVER () AS total
  FROM (
    SELECT saga_id, sequence, event_type, step_index, old_state,
           lag(new_state) OVER (PARTITION BY saga_id, step_index ORDER BY sequence) AS before,
           min(sequence) OVER (PARTITION BY saga_id) AS first
    FROM sagapost.saga_events WHERE sequence IS NOT NULL
  ) AS event
  WHERE old_state IS DISTINCT FROM coalesce(before, CASE WHEN first = 1 THEN 0 ELSE old_state END)
  LIMIT $1`

const sagaIsWhereItsHistoryEnds = `
  SELECT saga.id, format('in state %s, but its last event ended in %L', saga.state, last.new_state) AS detail,
         count(*) OVER () AS total
  FROM sagapost.saga_instances AS saga
  LEFT JOIN LATERAL (
    SELECT new_state FROM sagapost.saga_events
    WHERE saga_id = saga.id AND step_index IS NULL AND sequence IS NOT NULL ORDER BY sequence DESC LIMIT 1
  ) AS last ON true
  WHERE saga.event_count > 0 AND last.new_state <> saga.state OR saga.event_count = 0 AND saga.state <> 0
  LIMIT $1`

const sagaStepIsWhereItsHistoryEnds = `
  SELECT step.saga_id AS id, format('step %s is in state %s after %s attempts; by its history %L, %s', step.step_index,
           step.state, step.attempts, told.state, told.attempts) AS detail, count(*) OVER () AS total
  FROM sagapost.saga_steps AS step
  JOIN sagapost.saga_instances AS saga ON saga.id = step.saga_id AND saga.event_count > 0
  CROSS JOIN LATERAL (
    SELECT coalesce((array_agg(new_state ORDER BY sequence DESC))[1], 0) AS state,
           count(*) FILTER (WHERE event_type = 'saga.step.started') AS attempts
    FROM sagapost.saga_events
    WHERE saga_id = step.saga_id AND step_index = step.step_index AND sequence IS NOT NULL
  ) AS told
  WHERE (told.state <> step.state OR told.attempts <> step.attempts)
    AND EXISTS (SELECT FROM sagapost.saga_events WHERE saga_id = step.saga_id AND sequence = 1)
  LIMIT $1`

const sagaHasItsSteps = `
  SELECT saga.id, format('%s steps of %s', count(step.id), saga.total_steps) AS detail, count(*) OVER () AS total
  FROM sagapost.saga_instances AS saga
  LEFT JOIN sagapost.saga_steps AS step ON step.saga_id = saga.id AND step.step_index < saga.total_steps
  WHERE saga.event_count > 0
  GROUP BY saga.id HAVING count(step.id) <> saga.total_steps
  LIMIT $1`

// Completed with all steps Completed or not needed; ended otherwise, no step is under way.
const sagaEndFitsItsSteps = `
  SELECT saga.id, format('in state %s with a step %s in state %s', saga.state, step.step_index, step.state) AS detail,
         count(*) OVER () AS total
  FROM sagapost.saga_instances AS saga
  JOIN sagapost.saga_steps AS step ON step.saga_id = saga.id
  WHERE saga.event_count > 0
    AND (saga.state = 3 AND step.state NOT IN (2, 6) OR saga.state IN (5, 6, 7, 8) AND step.state IN (0, 1, 4))
  LIMIT $1`

// Without a time to wake at it waits for news, or has done its part for its parent.
const openSagaIsWithinReach = `
  SELECT id, format('in state %s, but nobody will ever take it up', state) AS detail, count(*) OVER () AS total
  FROM sagapost.saga_instances AS saga
  WHERE state IN (0, 1, 2, 4) AND wake_at IS NULL
    AND NOT (parent_id IS NOT NULL AND current_step >= total_steps)
    AND NOT EXISTS (
      SELECT FROM sagapost.saga_steps AS step
      WHERE step.saga_id = saga.id AND step.state IN (1, 4) AND step.waits_for IS NOT NULL)
  LIMIT $1`

// A step that waits for the end of deliveries needs a row that a coordinator polls.
const awaitedEventIsLookedAt = `
  SELECT step.saga_id AS id, format('step %s waits for %s, and nobody looks', step.step_index, step.waits_for) AS detail,
         count(*) OVER () AS total
  FROM sagapost.saga_steps AS step
  JOIN sagapost.saga_instances AS saga ON saga.id = step.saga_id
  LEFT JOIN sagapost.saga_awaited_events AS awaited
    ON awaited.saga_id = step.saga_id AND awaited.step_index = step.step_index
  WHERE step.state = 1 AND starts_with(step.waits_for, 'delivery:') AND awaited.look_at IS NULL
    AND saga.wake_at IS NULL AND NOT saga.awaiting_operator AND NOT EXISTS (SELECT FROM sagapost.saga_wakeups WHERE topic = step.waits_for)
  LIMIT $1`

// A batch and its count change in one transaction. Once it is undone the batches are gone, and the count stays.
const requeueHasWhatRemains = `
  SELECT step.saga_id AS id, format('%s letters remain, and its batches have %s', step.progress ->> 'remaining',
           coalesce(left_over.letters, 0)) AS detail, count(*) OVER () AS total
  FROM sagapost.saga_steps AS step
  JOIN sagapost.saga_instances AS saga ON saga.id = step.saga_id AND saga.state IN (0, 1, 2)
  LEFT JOIN (
    SELECT saga_id, sum(cardinality(letters)) AS letters FROM sagapost.requeue_batches GROUP BY saga_id
  ) AS left_over ON left_over.saga_id = step.saga_id
  WHERE step.progress ? 'remaining' AND (step.progress ->> 'remaining')::bigint <> coalesce(left_over.letters, 0)
  LIMIT $1`

// The remains of an ended saga are removed within minutes.
const endedRequeueHasNoBatches = `
  SELECT saga.id, format('in state %s since %s, and batches of it are left', saga.state, saga.completed_at) AS detail,
         count(*) OVER () AS total
  FROM sagapost.saga_instances AS saga
  WHERE saga.id IN (SELECT saga_id FROM sagapost.requeue_batches)
    AND saga.state IN (3, 5, 7, 8) AND saga.completed_at < sagapost.now() - interval '10 minutes'
  LIMIT $1`

/** Of general sagas; `id` is the saga's. $1 is how many examples to name. */
export const sagaInvariants: readonly Invariant[] = [
  { name: 'saga_history_without_gaps', rules: ['G6'], sql: sagaHistoryWithoutGaps },
  { name: 'saga_history_follows_itself', rules: ['G6'], sql: sagaHistoryFollowsItself },
  { name: 'saga_is_where_its_history_ends', rules: ['G1', 'G6'], sql: sagaIsWhereItsHistoryEnds },
  { name: 'saga_step_is_where_its_history_ends', rules: ['G2', 'G6'], sql: sagaStepIsWhereItsHistoryEnds },
  { name: 'saga_has_its_steps', rules: ['G2'], sql: sagaHasItsSteps },
  { name: 'saga_end_fits_its_steps', rules: ['G14'], sql: sagaEndFitsItsSteps },
  { name: 'open_saga_is_within_reach', rules: ['G14'], sql: openSagaIsWithinReach },
  { name: 'awaited_event_is_looked_at', rules: ['G14'], sql: awaitedEventIsLookedAt },
  { name: 'requeue_has_what_remains', rules: ['D4'], sql: requeueHasWhatRemains },
  { name: 'ended_requeue_has_no_batches', rules: ['D4'], sql: endedRequeueHasNoBatches },
]

const noSagaLeftOpen = `
  SELECT id, format('%s in state %s since %s', definition_id, state, updated_at) AS detail, count(*) OVER () AS total
  FROM sagapost.saga_instances WHERE state IN (0, 1, 2, 4) AND NOT awaiting_operator
  LIMIT $1`

/** Holds once every saga has come to its end, or waits for an operator. */
export const settledSagaInvariants: readonly Invariant[] = [
  { name: 'no_saga_left_open', rules: ['G14'], sql: noSagaLeftOpen },
]
