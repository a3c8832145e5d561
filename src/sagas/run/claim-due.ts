import { planRelease, planSetAside } from '../decide/index.js'
import type { KnownDefinitions } from '../define/index.js'
import type { SagaDefinition } from '../definition.js'
import type { ClaimedSaga, SagaChange, SagaRecord } from '../records.js'
import type { StateStorage } from '../storage/index.js'
import type { DefinitionSlots } from './definition-slots.js'
import type { Launcher } from './launcher.js'

/**
 * Pause before another look at rows that do not fit their definition or cannot be read here: a rollout may be in
 * progress.
 */
const MISFIT_PAUSE_MS = 60_000

export interface ClaimOptions {
  readonly storage: Pick<StateStorage, 'claim' | 'write'>
  readonly owner: string
  readonly leaseMs: number
  readonly known: KnownDefinitions
  readonly slots: DefinitionSlots
  readonly launcher: Launcher
  readonly isStopping: () => boolean
  readonly onError: (error: Error, sagaId?: string) => void
}

/** Claims due sagas, as far as there is room, and runs them. Returns how many it claimed. */
export async function claimDue(options: ClaimOptions): Promise<number> {
  const { storage, owner, leaseMs, known, slots, launcher, isStopping, onError } = options
  const { request, settle } = slots.wanted()
  const askedAtMs = performance.now()
  const taken: [ClaimedSaga, SagaDefinition][] = []
  const back: SagaChange[] = []
  try {
    const claimed = request.limit === 0 ? [] : await storage.claim({ owner, leaseMs, ...request })
    for (const each of claimed) {
      const definition = known.get(each.saga.definitionId, each.saga.definitionVersion)
      if (definition && !each.unreadable && fits(each, definition)) {
        slots.take(definition)
        taken.push([each, definition])
      } else {
        onError(each.unreadable ?? misfit(each.saga), each.saga.id)
        back.push(planSetAside(each, MISFIT_PAUSE_MS))
      }
    }
  } finally {
    settle()
  }
  for (const [each, definition] of taken) {
    if (isStopping()) {
      // Claimed before the stop and answered after it: nothing would wait for its run, and its lease would delay other
      // coordinators.
      slots.give(definition)
      back.push(planRelease({ ...each, definition }, { wakeInMs: 0 }))
    } else launcher.takeOver(each, definition, askedAtMs)
  }
  if (back.length > 0) await storage.write(back, leaseMs)
  return taken.length + back.length
}

function fits({ saga, steps }: ClaimedSaga, definition: SagaDefinition): boolean {
  return (
    steps.length === definition.steps.length &&
    saga.totalSteps === steps.length &&
    steps.every(({ name }, index) => name === definition.steps[index]?.name)
  )
}

function misfit({ id, definitionId, definitionVersion }: SagaRecord): Error {
  return new Error(
    `saga ${id} was started with other steps than ${definitionId} version ${definitionVersion} has now: ` +
      'a definition whose steps change needs a new version',
  )
}
