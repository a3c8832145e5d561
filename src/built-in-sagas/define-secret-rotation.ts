import { type SagaDefinition, saga } from '../sagas/index.js'

/** Whose previous secret ends. */
interface SecretRotationInput {
  subscriptionId: string
}

/** Until the database is there; what it removes is out of use meanwhile. */
const ATTEMPTS_MAX = 200

/**
 * The end of a rotation: when the overlap is over, what is kept of the previous secret is removed. It is started in the
 * rotation's transaction, due at the end of the overlap (migrations/0014); until then it is a row and nothing more.
 */
export function defineSecretRotation(removeEnded: () => Promise<number>): SagaDefinition {
  return saga<SecretRotationInput>('sagapost.rotate-secret', { version: 1 }).step('remove-previous', {
    retry: { maxAttempts: ATTEMPTS_MAX, initialInterval: '1s', maxInterval: '1h' },
    run: async () => ({ removed: await removeEnded() }),
  })
}
