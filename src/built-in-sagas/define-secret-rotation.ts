import { type SagaDefinition, saga } from '../sagas/index.js'

/** The subscription whose previous secret ends. */
interface SecretRotationInput {
  subscriptionId: string
}

/** Enough to outlast a database outage; the secret that is to be removed is not in use meanwhile. */
const ATTEMPTS_MAX = 200

/**
 * Ends a rotation: removes the previous secret after the overlap. The saga is started in the rotation's transaction and
 * is due when the overlap ends (migrations/0014); until then it is only a row.
 */
export function defineSecretRotation(removeEnded: () => Promise<number>): SagaDefinition {
  return saga<SecretRotationInput>('sagapost.rotate-secret', { version: 1 }).step('remove-previous', {
    retry: { maxAttempts: ATTEMPTS_MAX, initialInterval: '1s', maxInterval: '1h' },
    run: async () => ({ removed: await removeEnded() }),
  })
}
