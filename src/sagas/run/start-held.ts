import { newSteps, planFirstRun, planRelease } from '../decide/index.js'
import type { SagaDefinition } from '../definition.js'
import { newSpanId } from '../new-ids.js'
import type { ClaimedSaga, SagaRecord } from '../records.js'
import type { StartOutcome, StateStorage } from '../storage/index.js'
import type { DefinitionSlots } from './definition-slots.js'
import type { Launcher } from './launcher.js'
import { newStepOf, type StartOptions, startSaga } from './start-saga.js'

export interface HeldStartOptions {
  readonly storage: Pick<StateStorage, 'write'>
  readonly starts: Pick<StateStorage, 'startSaga'>
  readonly owner: string
  readonly leaseMs: number
  readonly slots: DefinitionSlots
  readonly launcher: Launcher
  readonly isStopped: () => boolean
  readonly onError: (error: Error, sagaId?: string) => void
}

/**
 * Starts a saga that is held from the start: it needs no claim and, if its first step is called, no separate intent.
 */
export async function startHeld(
  options: HeldStartOptions,
  definition: SagaDefinition,
  input: unknown,
  startOptions: StartOptions,
): Promise<StartOutcome> {
  const { storage, starts, owner, leaseMs, slots, launcher, isStopped, onError } = options
  slots.take(definition)
  let launched = false
  try {
    const askedAtMs = performance.now()
    const begun = beginsWithCall(definition) ? { index: 0, spanId: newSpanId() } : undefined
    const lease = { owner, leaseMs, ...(begun ? { events: planFirstRun(begun.spanId, owner) } : {}) }
    const outcome = await startSaga(starts, definition, input, { ...startOptions, lease })
    const claimed = newlyStarted(outcome.saga, definition)
    if (outcome.created && !isStopped()) {
      launcher.launch(claimed, definition, askedAtMs, begun)
      launched = true
    } else if (outcome.created) {
      const run = { ...claimed, definition }
      await storage
        .write([planRelease(run, { wakeInMs: 0 })], leaseMs)
        .catch((error: Error) => onError(error, claimed.saga.id))
    }
    return outcome
  } finally {
    if (!launched) slots.give(definition)
  }
}

/** The first stage is one unconditional step that is called. */
function beginsWithCall({ steps }: SagaDefinition): boolean {
  const [first, second] = steps
  const called = first?.kind === 'step' || first?.kind === 'transaction'
  return called && first.when === undefined && second?.stage !== first.stage
}

function newlyStarted(saga: SagaRecord, { steps }: SagaDefinition): ClaimedSaga {
  return {
    saga,
    steps: newSteps(saga, steps.map(newStepOf)),
    signals: { cancelRequested: false, overdue: false },
    recovered: false,
  }
}
