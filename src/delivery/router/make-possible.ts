import type pg from 'pg'
import { databaseErrorCode, isRefusal } from '../../database/index.js'
import { type MakeDeliveries, type RefusedEvent, type RoutableEvent, toPairs } from './make-sagas.js'

const REASON_CHARACTERS_MAX = 1_000

// uniq_saga_event_subscription makes a second routing of the same event a no-op [S3, R3]. Subscriptions that were switched
// off since they were read are left out, by subscriptions_pkey: delivery_fits_subscription looks with the same snapshot, so
// none of them is refused, and no event is set aside for one [U5].
const makeMissingSagas = `
  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, correlation_id)
  SELECT event_id, subscription_id, correlation_id
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[])
    AS pair (event_id, subscription_id, correlation_id, event_type)
  WHERE EXISTS (
    SELECT FROM sagapost.subscriptions AS subscription
    WHERE subscription.id = pair.subscription_id AND subscription.event_type = pair.event_type
      AND subscription.active AND subscription.verified)
  ON CONFLICT (event_id, subscription_id, requeued_from) DO NOTHING`

// An event that is set aside already, because it was queued twice, keeps its first reason.
const setAside = `
  WITH done AS (
    DELETE FROM sagapost.event_routing_queue WHERE id = ANY ($1::bigint[])
  )
  INSERT INTO sagapost.set_aside_events (event_id, event_type, correlation_id, error_code, reason)
  SELECT * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
  ON CONFLICT DO NOTHING`

/**
 * For a batch that the database refused: creates the deliveries of every event that the database accepts and sets the
 * other events aside [R1]. The batch is halved until each refused event is alone, so that one among 500 costs some 20
 * statements.
 */
export const makePossible: MakeDeliveries = async (client, queueIds, events) => {
  const refused: RefusedEvent[] = []
  const deliveries = await makeOrHalve(client, events, refused)
  await client.query(setAside, [
    queueIds,
    refused.map(({ id }) => id),
    refused.map(({ type }) => type),
    refused.map(({ correlationId }) => correlationId),
    refused.map(({ error }) => databaseErrorCode(error) ?? error.code),
    refused.map(({ error }) => error.message.slice(0, REASON_CHARACTERS_MAX)),
  ])
  return { deliveries, refused }
}

/** Returns how many deliveries were created. Any other error is thrown, and the whole batch is tried again. */
async function makeOrHalve(
  client: pg.PoolClient,
  events: readonly RoutableEvent[],
  refused: RefusedEvent[],
): Promise<number> {
  await client.query('SAVEPOINT making')
  try {
    const types = events.flatMap(({ type, subscriptions }) => subscriptions.map(() => type))
    const { rowCount } = await client.query(makeMissingSagas, [...toPairs(events), types])
    await client.query('RELEASE SAVEPOINT making')
    return rowCount ?? 0
  } catch (error) {
    if (!isRefusal(error)) throw error
    await client.query('ROLLBACK TO SAVEPOINT making; RELEASE SAVEPOINT making')
    const [first, second] = events
    if (first && !second) {
      refused.push({ ...first, error })
      return 0
    }
    const half = Math.ceil(events.length / 2)
    const made = await makeOrHalve(client, events.slice(0, half), refused)
    return made + (await makeOrHalve(client, events.slice(half), refused))
  }
}
