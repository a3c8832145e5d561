import type { Invariant } from './invariant.js'

const deadSagaHasOneDeadLetter = `
  SELECT saga.id, format('DeadLettered with %s dead letters', count(letter.id)) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN sagapost.dead_letters AS letter
    ON letter.saga_id = saga.id AND letter.event_id = saga.event_id
      AND letter.event_id >= $1 AND letter.event_id < $2 AND letter.subscription_id = saga.subscription_id
  WHERE saga.status = 'DeadLettered' AND saga.event_id >= $1 AND saga.event_id < $2
  GROUP BY saga.id, saga.event_id HAVING count(letter.id) <> 1
  LIMIT $3`

const deadLetterHasDeadSaga = `
  SELECT letter.id, format('delivery %s is %L', letter.saga_id, saga.status) AS detail, count(*) OVER () AS total
  FROM sagapost.dead_letters AS letter
  LEFT JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.id = letter.saga_id AND saga.event_id = letter.event_id
      AND saga.event_id >= $1 AND saga.event_id < $2 AND saga.subscription_id = letter.subscription_id
  WHERE letter.event_id >= $1 AND letter.event_id < $2 AND saga.status IS DISTINCT FROM 'DeadLettered'
  LIMIT $3`

// As text: byte for byte, where json has no equality and jsonb would not see a difference in spaces.
const deadLetterPayloadIsTheEvents = `
  SELECT letter.id, format('snapshot of %s bytes, payload of %s', octet_length(letter.payload_snapshot::text),
           octet_length(event.payload::text)) AS detail, count(*) OVER () AS total
  FROM sagapost.dead_letters AS letter
  LEFT JOIN sagapost.events AS event ON event.id = letter.event_id AND event.id >= $1 AND event.id < $2
  WHERE letter.event_id >= $1 AND letter.event_id < $2
    AND event.payload::text IS DISTINCT FROM letter.payload_snapshot::text
  LIMIT $3`

const deadLetterTellsTheEnd = `
  SELECT letter.id, format('error %L, %s attempts; delivery: %L, %s; job %L of %L', letter.final_error_code, letter.attempt_count,
           saga.final_error_code, saga.attempt_count, letter.job_id, last.id) AS detail, count(*) OVER () AS total
  FROM sagapost.dead_letters AS letter
  JOIN sagapost.webhook_delivery_sagas AS saga ON saga.id = letter.saga_id AND saga.event_id = letter.event_id
    AND saga.event_id >= $1 AND saga.event_id < $2
  LEFT JOIN LATERAL (
    SELECT job.id FROM sagapost.webhook_delivery_jobs AS job
    WHERE job.saga_id = letter.saga_id AND job.event_id = letter.event_id
      AND job.event_id >= $1 AND job.event_id < $2 ORDER BY attempt DESC LIMIT 1
  ) AS last ON true
  WHERE letter.event_id >= $1 AND letter.event_id < $2
    AND (letter.final_error_code, letter.attempt_count, letter.job_id)
      IS DISTINCT FROM (saga.final_error_code, saga.attempt_count, last.id)
  LIMIT $3`

const requeuedFromItsDeadLetter = `
  SELECT saga.id, format('requeued from %s, which is no dead letter of event %s and subscription %s',
           saga.requeued_from, saga.event_id, saga.subscription_id) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN sagapost.dead_letters AS letter
    ON letter.id = saga.requeued_from AND letter.event_id = saga.event_id
      AND letter.event_id >= $1 AND letter.event_id < $2
      AND letter.subscription_id = saga.subscription_id
  WHERE saga.requeued_from IS NOT NULL AND saga.event_id >= $1 AND saga.event_id < $2 AND letter.id IS NULL
  LIMIT $3`

const oneRequeuePerDeadLetter = `
  SELECT requeued_from AS id, format('%s deliveries take up the dead letter', count(*)) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas
  WHERE requeued_from IS NOT NULL AND event_id >= $1 AND event_id < $2
  GROUP BY requeued_from, event_id HAVING count(*) > 1
  LIMIT $3`

/** `id` is the dead letter's, but the delivery's where that is what is wrong. */
export const deadLetterInvariants: readonly Invariant[] = [
  { name: 'dead_saga_has_one_dead_letter', rules: ['D3'], sql: deadSagaHasOneDeadLetter },
  { name: 'dead_letter_has_dead_saga', rules: ['D3'], sql: deadLetterHasDeadSaga },
  { name: 'dead_letter_payload_is_the_events', rules: ['D2'], sql: deadLetterPayloadIsTheEvents },
  { name: 'dead_letter_tells_the_end', rules: ['D1', 'J11'], sql: deadLetterTellsTheEnd },
  { name: 'requeued_from_its_dead_letter', rules: ['D4', 'S19'], sql: requeuedFromItsDeadLetter },
  { name: 'one_requeue_per_dead_letter', rules: ['D4'], sql: oneRequeuePerDeadLetter },
]
