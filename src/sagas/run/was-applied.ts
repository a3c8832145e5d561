import { ownEventCount, type SagaChange } from '../records.js'
import type { StateStorage, WriteOutcome } from '../storage/index.js'

/** Whether a write whose answer was lost was committed after all, from the fencing token. */
export async function wasApplied(
  storage: Pick<StateStorage, 'getSaga'>,
  change: SagaChange,
): Promise<WriteOutcome> {
  const saga = await storage.getSaga(change.sagaId)
  const owner = change.release ? null : change.owner
  if (saga?.version !== change.version + 1 || saga.leaseOwner !== owner) return { applied: false }
  // A claim by this same coordinator raises the token as well, but adds no events.
  const told = change.eventsBefore === undefined ? undefined : change.eventsBefore + change.events.length
  if (told !== undefined && ownEventCount(saga) !== told) return { applied: false }
  const { cancelRequestedAt, updatedAt: moment } = saga
  return { applied: true, cancelRequested: cancelRequestedAt !== null, overdue: false, moment }
}
