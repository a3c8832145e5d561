import { createSecretBox, openRoutes } from '../../src/subscriptions/index.js'
import { generateSecret } from '../../src/webhook/index.js'
import type { Bench } from './open-bench.js'
import type { Endpoint, SagapostDatabase } from './prepare-sagapost.js'
import { masterKey } from './sagapost-environment.js'

/** Verified subscriptions by the thousand, written by the owner: to verify each over HTTPS takes minutes. */
export async function addEndpoints(
  bench: Bench,
  { pool }: SagapostDatabase,
  endpoints: readonly Endpoint[],
): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
     SELECT event_type, callback_url, true, true FROM unnest($1::text[], $2::text[]) AS added (event_type, callback_url)
     RETURNING id`,
    [endpoints.map(({ eventType }) => eventType), endpoints.map(({ path }) => bench.receiver.url + path)],
  )
  const box = createSecretBox(masterKey)
  const { scheme, key } = generateSecret('v1')
  await pool.query(
    `INSERT INTO sagapost.subscription_secrets (subscription_id, scheme, ciphertext)
     SELECT id, $2, ciphertext FROM unnest($1::bigint[], $3::bytea[]) AS sealed (id, ciphertext)`,
    [rows.map(({ id }) => id), scheme, rows.map(({ id }) => box.seal(key, { subscriptionId: id, scheme }))],
  )
  await openRoutes(pool)
  await pool.query('ANALYZE sagapost.subscriptions, sagapost.subscription_secrets')
}
