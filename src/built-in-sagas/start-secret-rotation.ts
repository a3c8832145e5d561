import type pg from 'pg'
import { startOwnSaga } from '../sagas/index.js'
import { defineSecretRotation } from './define-secret-rotation.js'

/** migrations/0014: due when the previous secret of the subscription ends. */
const startRotation = `
  SELECT saga_id, created, moment, input, answer FROM sagapost.start_secret_rotation($1)`

/** Runs in the rotation's own transaction, under the role subscription_admin. */
export async function startSecretRotation(client: pg.PoolClient, subscriptionId: string): Promise<void> {
  // Starting the saga needs only its shape; the part `sagas` runs it.
  const shape = defineSecretRotation(() => Promise.reject(new Error('not run here')))
  await startOwnSaga(client, { sql: startRotation }, shape, { subscriptionId })
}
