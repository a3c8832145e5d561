import { isFinal, sagaMachine } from '../../../model/index.js'
import { applyToRecords, newRecord, newSteps } from '../../decide/index.js'
import type { StepTransaction } from '../../definition.js'
import type {
  ClaimedSaga,
  NewSaga,
  Release,
  SagaChange,
  SagaEventRecord,
  SagaRecord,
  Signals,
  StepRecord,
} from '../../records.js'
import type { SagaFilter, StartOutcome, StateStorage, WriteOutcome } from '../state-storage.js'
import { type DeliveryCounts, keepEvents, type PublishedEvent } from './memory-events.js'
import { keepSignals } from './memory-signals.js'

export interface MemoryStorageOptions {
  /** The clock. */
  readonly now?: () => number
  /** The `tx` of transaction steps. */
  readonly tx?: StepTransaction
  /** The states of an event's deliveries, asked at every look. Default: the event has no subscription. */
  readonly deliveries?: (event: PublishedEvent) => DeliveryCounts
}

export interface MemoryStorage extends StateStorage {
  /** The events that sagas published, in order. */
  readonly published: readonly PublishedEvent[]
}

export interface Kept {
  saga: SagaRecord
  steps: StepRecord[]
  events: SagaEventRecord[]
  /** Whether there was news since it was last claimed. */
  woken: boolean
}

const noTransaction: StepTransaction = {
  query: () => {
    throw new Error('createMemoryStorage was given no tx')
  },
}

/** [G13] A storage in memory, for tests of sagas. The conformance suite checks that it behaves as PostgreSQL's does. */
export function createMemoryStorage({
  now: clock = Date.now,
  tx = noTransaction,
  deliveries = () => ({}),
}: MemoryStorageOptions = {}): MemoryStorage {
  const all = new Map<string, Kept>()
  const now = (plusMs = 0) => new Date(clock() + plusMs)
  const isDue = (at: Date | null) => at !== null && at.getTime() <= clock()

  const signalsOf = ({ saga }: Kept): Signals => ({
    cancelRequested: saga.cancelRequestedAt !== null,
    overdue: isDue(saga.deadlineAt),
  })

  const writeOne = (change: SagaChange, leaseMs: number): WriteOutcome => {
    const kept = all.get(change.sagaId)
    if (kept === undefined || kept.saga.version !== change.version || kept.saga.leaseOwner !== change.owner) {
      return { applied: false }
    }
    const moment = now()
    const { saga, steps } = applyToRecords(kept, change, moment)
    const { release } = change
    const lease = release
      ? { leaseUntil: null, wakeAt: wakeAtOf(saga, release, kept.woken, moment) }
      : leaseFrom(moment, leaseMs)
    kept.saga = { ...saga, ...lease }
    kept.steps = steps
    for (const event of change.events) tell(kept, event, moment)
    for (const publication of change.publications ?? []) published.post(change.sagaId, publication)
    for (const child of change.children ?? []) startOne(child)
    for (const topic of change.wakes ?? []) signals.tell(topic)
    return { applied: true, moment, ...signalsOf(kept) }
  }

  const startOne = (given: NewSaga): StartOutcome => {
    const { idempotencyKey: key, definitionId } = given
    const first = [...all.values()].find(
      ({ saga }) => key !== null && saga.idempotencyKey === key && saga.definitionId === definitionId,
    )
    if (first) return { created: false, saga: first.saga }
    const saga = newRecord(given, now())
    const made: Kept = { saga, steps: newSteps(saga, given.steps), events: [], woken: false }
    all.set(saga.id, made)
    for (const event of given.lease?.events ?? []) tell(made, event, saga.createdAt)
    return { created: true, saga }
  }

  const wakeAtOf = (saga: SagaRecord, release: Release, woken: boolean, moment: Date): Date | null => {
    const { wakeInMs, wakeAt, setAside } = release
    if (!isUnfinished(saga)) return null
    const times = [
      ...(wakeInMs === null ? [] : [moment.getTime() + wakeInMs]),
      ...(wakeAt ? [wakeAt.getTime()] : []),
    ]
    const plain = times.length > 0 ? new Date(Math.min(...times)) : null
    if (setAside) return plain
    if (woken) return moment
    if (saga.state === 'Compensating' || saga.pivotedAt !== null) return plain
    if (saga.cancelRequestedAt !== null) return moment
    if (saga.currentStep >= saga.totalSteps || saga.deadlineAt === null) return plain
    return new Date(Math.min(...times, saga.deadlineAt.getTime()))
  }

  const signals = keepSignals(all, now)
  const published = keepEvents(deliveries)

  const tell = (kept: Kept, event: SagaChange['events'][number], moment: Date): void => {
    const entry = {
      sagaId: kept.saga.id,
      sequence: kept.events.length + 1,
      type: event.type,
      stepIndex: event.stepIndex,
      timestamp: moment,
      oldState: event.oldState,
      newState: event.newState,
      data: event.data ?? null,
      metadata: event.metadata ?? null,
      error: event.error ?? null,
      traceId: kept.saga.traceId,
      spanId: event.spanId ?? kept.saga.spanId,
    }
    kept.events.push(entry)
    if (kept.saga.publishes) published.tell(kept, entry)
  }

  return {
    published: published.published,
    startSaga: async (saga) => startOne(saga),
    startSagas: async (sagas) => sagas.map(startOne),
    async getSaga(id) {
      return all.get(id)?.saga
    },
    async readStates(ids) {
      const kept = ids.flatMap((id) => all.get(id)?.saga ?? [])
      return new Map(kept.map(({ id, state }) => [id, state]))
    },
    async listSagas(filter) {
      return [...all.values()]
        .map(({ saga }) => saga)
        .filter((saga) => matches(saga, filter))
        .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1))
        .slice(0, filter.limit ?? 50)
    },
    async findTimedOut(limit) {
      return [...all.values()]
        .map(({ saga }) => saga)
        .filter(({ state }) => state === 'Pending' || state === 'Running' || state === 'StepCompleted')
        .filter(({ pivotedAt, currentStep, totalSteps }) => pivotedAt === null && currentStep < totalSteps)
        .filter(({ deadlineAt }) => isDue(deadlineAt))
        .sort((a, b) => Number(a.deadlineAt) - Number(b.deadlineAt))
        .slice(0, limit)
    },
    async listSteps(sagaId) {
      return [...(all.get(sagaId)?.steps ?? [])]
    },
    async listEvents(sagaId) {
      return [...(all.get(sagaId)?.events ?? [])]
    },
    async write(changes, leaseMs) {
      return changes.map((change) => writeOne(change, leaseMs))
    },
    async transact(work, leaseMs) {
      let change: SagaChange
      try {
        change = await work(tx)
      } catch (error) {
        return { outcome: 'failed', error }
      }
      const outcome = writeOne(change, leaseMs)
      return outcome.applied ? { outcome: 'committed', signals: outcome } : { outcome: 'refused' }
    },
    async lookAhead(definitions) {
      const wakes = [...all.values()]
        .map(({ saga }) => saga)
        .filter((saga) => isUnfinished(saga) && saga.wakeAt !== null)
        .filter((saga) =>
          definitions.some(
            ({ name, version }) => saga.definitionId === name && saga.definitionVersion === version,
          ),
        )
        .map(({ wakeAt }) => Number(wakeAt))
      const dueInMs = wakes.length === 0 ? null : Math.max(0, Math.min(...wakes) - Number(now()))
      return { news: true, dueInMs }
    },
    async claim({ owner, leaseMs, limit, definitions }) {
      const claimed: ClaimedSaga[] = []
      for (const { name, version, limit: own } of definitions) {
        const due = [...all.values()]
          .filter(({ saga }) => saga.definitionId === name && saga.definitionVersion === version)
          .filter(({ saga }) => isUnfinished(saga) && isDue(saga.wakeAt))
          .sort((a, b) => Number(a.saga.wakeAt) - Number(b.saga.wakeAt))
        for (const kept of due.slice(0, Math.min(own, limit - claimed.length))) {
          const recovered = kept.saga.leaseOwner !== null
          const lease = { leaseOwner: owner, leaseUntil: now(leaseMs), wakeAt: now(leaseMs) }
          kept.saga = { ...kept.saga, ...lease, version: kept.saga.version + 1, updatedAt: now() }
          kept.woken = false
          claimed.push({ saga: kept.saga, steps: [...kept.steps], signals: signalsOf(kept), recovered })
        }
      }
      return claimed
    },
    async renew(owner, sagaIds, leaseMs) {
      const renewed: string[] = []
      for (const kept of sagaIds.map((id) => all.get(id))) {
        if (kept?.saga.leaseOwner !== owner) continue
        kept.saga = { ...kept.saga, leaseUntil: now(leaseMs), wakeAt: now(leaseMs), updatedAt: now() }
        renewed.push(kept.saga.id)
      }
      return renewed
    },
    async readSignals(owner, sagaIds) {
      const held = sagaIds
        .map((id) => all.get(id))
        .filter((kept) => kept?.saga.leaseOwner === owner) as Kept[]
      return new Map(held.map((kept) => [kept.saga.id, signalsOf(kept)]))
    },
    async requestCancel(sagaId, { by, reason, asParent }) {
      const kept = all.get(sagaId)
      if (kept === undefined) return 'not_found'
      const { state, cancelRequestedAt, leaseOwner, wakeAt, eventCount } = kept.saga
      if (state !== 'Pending' && state !== 'Running' && state !== 'StepCompleted') return 'too_late'
      const { pivotedAt, parentId, currentStep, totalSteps } = kept.saga
      if (pivotedAt !== null) return 'too_late'
      if (cancelRequestedAt !== null) return 'already_requested'
      if (!asParent && parentId !== null && currentStep >= totalSteps) return 'too_late'
      const moment = now()
      const asked = {
        cancelRequestedAt: moment,
        cancelRequestedBy: by,
        cancelReason: reason,
        updatedAt: moment,
      }
      kept.saga = {
        ...kept.saga,
        ...asked,
        wakeAt: leaseOwner === null ? now() : wakeAt,
        eventCount: eventCount + 1,
      }
      const number = sagaMachine.statuses.indexOf(state)
      const data = { action: 'cancel', by, why: reason }
      tell(kept, { type: 'state.changed', stepIndex: null, oldState: number, newState: number, data }, moment)
      return 'requested'
    },
    signal: signals.signal,
    findSignals: signals.findSignals,
    findDeliveries: published.findDeliveries,
    async passNewsOn() {
      published.passNewsOn(signals.tell)
      return false
    },
    cleanUpSignals: signals.cleanUpSignals,
    async deleteSaga(id) {
      const saga = all.get(id)?.saga
      return saga !== undefined && isOver(saga) && all.delete(id)
    },
    async cleanUpExpired(olderThan, { limit, signal } = {}) {
      const expired = [...all.values()]
        .filter(({ saga }) => isOver(saga) && saga.updatedAt < olderThan)
        .sort((a, b) => Number(a.saga.updatedAt) - Number(b.saga.updatedAt))
        .slice(0, signal?.aborted ? 0 : limit)
      for (const { saga } of expired) all.delete(saga.id)
      return expired.length
    },
  }
}

/** As on PostgreSQL, all of a write happens at one moment. */
function leaseFrom(moment: Date, leaseMs: number): Pick<SagaRecord, 'leaseUntil' | 'wakeAt'> {
  const until = new Date(moment.getTime() + leaseMs)
  return { leaseUntil: until, wakeAt: until }
}

function isUnfinished({ state }: SagaRecord): boolean {
  return state === 'Compensating' || state === 'Pending' || state === 'Running' || state === 'StepCompleted'
}

/** Finished, and not waiting for an operator. */
function isOver(saga: SagaRecord): boolean {
  return isFinal(sagaMachine, saga.state) || (saga.state === 'Failed' && !saga.awaitingOperator)
}

function matches(saga: SagaRecord, filter: SagaFilter): boolean {
  const { states, definitionId, traceId, awaitingOperator, before } = filter
  const created = saga.createdAt.getTime()
  return (
    (states === undefined || states.includes(saga.state)) &&
    (definitionId === undefined || saga.definitionId === definitionId) &&
    (traceId === undefined || saga.traceId === traceId) &&
    (awaitingOperator === undefined || saga.awaitingOperator === awaitingOperator) &&
    (before === undefined ||
      created < before.createdAt.getTime() ||
      (created === before.createdAt.getTime() && saga.id < before.id))
  )
}
