import type { SagaError } from '../saga-error.js'

/** A wait that only an operator can end, and why. */
export interface StuckWait {
  readonly index: number
  readonly error: SagaError
}
