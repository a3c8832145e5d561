import { SagapostError } from '../../errors/index.js'
import { planResolution, planUnstartedCancel, type Resolution, stuckWaits } from '../decide/index.js'
import type { SagaRecord } from '../records.js'
import type { CancelOutcome, CancelRequest, StateStorage } from '../storage/index.js'

const ACTIONS = ['retry', 'skip', 'resolve']
const WORDS_MAX = 1_000

/**
 * Applies an operator's decision to a saga whose undo failed for good: `retry` the undo, `skip` it and continue, or
 * `resolve` it as settled by hand. A Running saga that waits for news that will not come takes only `skip`. Who
 * decided, and why, is recorded. Needs no coordinator.
 */
export async function resolveSaga(
  storage: StateStorage,
  sagaId: string,
  resolution: Resolution,
): Promise<SagaRecord> {
  const { action, by, why } = resolution
  if (!ACTIONS.includes(action)) throw invalid(`action must be one of ${ACTIONS.join(', ')}`)
  requireWords({ by, why })
  const saga = await storage.getSaga(sagaId)
  if (saga === undefined) throw new SagapostError('saga_not_found', `There is no saga ${sagaId}`)
  const steps = await storage.listSteps(sagaId)
  const waits = saga.awaitingOperator && saga.state === 'Running'
  if (saga.awaitingOperator && (!waits || action === 'skip')) {
    const change = planResolution({ saga, steps }, { action, by, why })
    const [outcome] = await storage.write([change], 0)
    const after = await storage.getSaga(sagaId)
    if (outcome?.applied && after) return after
  }
  if (waits && action !== 'skip') {
    const why = stuckWaits(steps).map(({ name, error }) => `${name}: ${error?.message}`)
    throw new SagapostError(
      'saga_not_awaiting_operator',
      `Saga ${sagaId} has failed nothing, but waits (${why.join('; ')}): requeue the dead letter, skip, or cancel it`,
    )
  }
  throw new SagapostError(
    'saga_not_awaiting_operator',
    `Saga ${sagaId} does not wait for an operator: it is ${(await storage.getSaga(sagaId))?.state ?? 'gone'}`,
  )
}

/**
 * Requests a cancel, on record: the coordinator that holds the saga stops its steps and undoes what was done. A saga of
 * which no step was begun ends at once: there is nothing to undo, and perhaps no process has its definition.
 */
export async function cancelSaga(
  storage: StateStorage,
  sagaId: string,
  request: CancelRequest,
): Promise<Exclude<CancelOutcome, 'not_found'>> {
  requireWords({ by: request.by, reason: request.reason })
  const outcome = await storage.requestCancel(sagaId, request)
  if (outcome === 'not_found') throw new SagapostError('saga_not_found', `There is no saga ${sagaId}`)
  if (outcome === 'too_late') return (await endedUnstarted(storage, sagaId)) ? 'already_requested' : outcome
  await endUnstarted(storage, sagaId)
  return outcome
}

async function endUnstarted(storage: StateStorage, sagaId: string): Promise<void> {
  const saga = await storage.getSaga(sagaId)
  if (saga?.state !== 'Pending' || saga.leaseOwner !== null) return
  const steps = await storage.listSteps(sagaId)
  // Refused when a coordinator has taken it up meanwhile: the version differs, and the coordinator ends it.
  await storage.write([planUnstartedCancel({ saga, steps })], 0)
}

async function endedUnstarted(storage: StateStorage, sagaId: string): Promise<boolean> {
  const saga = await storage.getSaga(sagaId)
  return saga?.state === 'Cancelled' && saga.startedAt === null
}

function requireWords(words: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(words)) {
    if (
      typeof value !== 'string' ||
      value.trim() === '' ||
      value.length > WORDS_MAX ||
      value.includes('\0')
    ) {
      throw invalid(`${name} must be 1 to ${WORDS_MAX} characters of text`)
    }
  }
  if (typeof words['by'] === 'string' && words['by'].length > 255) {
    throw invalid('by must be 1 to 255 characters of text')
  }
}

function invalid(message: string): SagapostError {
  return new SagapostError('saga_resolution_invalid', message)
}
