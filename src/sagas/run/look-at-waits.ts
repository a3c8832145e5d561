import { isPastPivot, type StuckWait } from '../decide/index.js'
import type { DeliveryStep, SignalStep, StepDefinition } from '../definition.js'
import { encodeJson } from '../json.js'
import type { SagaRecord, StepRecord } from '../records.js'
import { attemptError, isRetryable, retellError, type SagaError } from '../saga-error.js'
import { describeIssues } from '../standard-schema.js'
import type { ArrivedSignal, AwaitedDeliveries, SignalName, StateStorage } from '../storage/index.js'
import { sagaOfTopic } from '../topics.js'
import type { HeldSaga } from './held-saga.js'

/** A wait that has ended. */
export type EndedWait =
  | { readonly index: number; readonly ok: true; readonly output: string | undefined }
  | { readonly index: number; readonly ok: false; readonly error: SagaError }

export interface LookedWaits {
  readonly ended: readonly EndedWait[]
  /** Waits that only an operator can end. */
  readonly stuck: readonly StuckWait[]
  /** A signal that cannot be read here: another process may have the key. */
  readonly unreadable?: Error
}

type Verdict = { ok: true; output: string | undefined } | { ok: false; error: SagaError; stuck?: boolean }

/**
 * Checks whether what these steps wait for has happened. A signal that has arrived counts even after the time limit,
 * and so do completed deliveries.
 */
export async function lookAtWaits(
  held: HeldSaga,
  storage: Pick<StateStorage, 'findSignals' | 'findDeliveries' | 'getSaga' | 'requestCancel'>,
  indexes: readonly number[],
): Promise<LookedWaits> {
  const { definition } = held
  const waiting = indexes.flatMap((index) => held.run.steps[index] ?? [])
  const running = waiting.filter(({ state }) => state === 'Running')
  const names = running.flatMap((step) => signalOf(held, step) ?? [])
  const arrived = names.length > 0 ? await storage.findSignals(names) : new Map<string, ArrivedSignal>()
  const sending = running.filter(({ index }) => definition.steps[index]?.kind === 'delivery')
  const sent =
    sending.length > 0
      ? await storage.findDeliveries(sending.map(({ sagaId, index }) => ({ sagaId, stepIndex: index })))
      : new Map<string, AwaitedDeliveries>()
  const now = held.now()
  const past = isPastPivot(held.run)
  const ended: EndedWait[] = []
  const stuck: StuckWait[] = []
  let unreadable: Error | undefined
  for (const step of waiting) {
    const { index, waitsFor } = step
    const timeIsUp = step.wakeAt !== null && step.wakeAt <= now
    const kind = definition.steps[index]?.kind
    let verdict: Verdict | undefined
    if (step.state === 'Compensating') verdict = await lookAtUndo(held, storage, step)
    else if (step.state !== 'Running') continue
    else if (kind === 'sleep') verdict = timeIsUp ? { ok: true, output: undefined } : undefined
    else if (kind === 'signal' && waitsFor !== null) {
      const come = arrived.get(waitsFor)
      if (come && 'payload' in come) {
        verdict = await readPayload(definition.steps[index] as SignalStep, come.payload)
      } else if (come?.unreadable.forGood) verdict = invalid(come.unreadable.message)
      else if (come) unreadable = come.unreadable
      else if (timeIsUp) verdict = { ok: true, output: '{"timedOut":true}' }
    } else if (kind === 'delivery' && waitsFor !== null) {
      const delivery = definition.steps[index] as DeliveryStep
      verdict = readDeliveries(delivery, sent.get(waitsFor), { timeIsUp, past })
    } else if (kind === 'saga') verdict = await lookAtChild(held, storage, step)
    if (waitsFor !== null) held.looked.add(index)
    if (verdict === undefined) continue
    if (!verdict.ok && (verdict.stuck || (past && isLasting(kind, verdict.error)))) {
      stuck.push({ index, error: verdict.error })
    } else ended.push({ index, ...verdict })
  }
  return { ended, stuck, ...(unreadable ? { unreadable } : {}) }
}

/** Past the pivot a retry of these would repeat the same result without end; a child's retry starts another child. */
function isLasting(kind: StepDefinition['kind'] | undefined, { retryable }: SagaError): boolean {
  return retryable === false && (kind === 'signal' || kind === 'delivery')
}

/** A dead letter fails the step, unless an operator is to decide, as always past the pivot. */
function readDeliveries(
  { onDeadLetter, retry }: DeliveryStep,
  deliveries: AwaitedDeliveries | undefined,
  { timeIsUp, past }: { readonly timeIsUp: boolean; readonly past: boolean },
): Verdict | undefined {
  const { standing = 'gone', eventId, completed = 0, dead = 0 } = deliveries ?? {}
  const failed = (
    code: 'delivery_dead_lettered' | 'delivery_unknown' | 'step_timed_out',
    message: string,
  ) => {
    const type = code === 'step_timed_out' ? 'timeout' : 'coordinator'
    const again = code !== 'delivery_unknown' && isRetryable({ code, type }, retry.retry_on)
    return { ok: false, error: attemptError(code, message, again) } as const
  }
  if (standing === 'completed') return { ok: true, output: encodeJson({ eventId, deliveries: completed }) }
  if (standing === 'gone') return failed('delivery_unknown', `nothing is known of event ${eventId} any more`)
  const count = dead === 1 ? 'a delivery' : `${dead} deliveries`
  const deadLettered =
    standing === 'dead'
      ? failed('delivery_dead_lettered', `${count} of event ${eventId} could not be made`)
      : undefined
  if (deadLettered && past) return { ...deadLettered, stuck: true }
  if (deadLettered && onDeadLetter === 'fail') return deadLettered
  if (timeIsUp) return failed('step_timed_out', `the deliveries of event ${eventId} took too long`)
  return deadLettered && { ...deadLettered, stuck: true }
}

function signalOf({ definition }: HeldSaga, { index, waitsFor }: StepRecord): SignalName | undefined {
  const step = definition.steps[index]
  if (step?.kind !== 'signal' || waitsFor === null) return undefined
  return { name: step.signal, key: waitsFor.slice(`signal:${step.signal}:`.length) }
}

/** The payload never changes, so an invalid one ends the wait as well. */
async function readPayload({ schema, signal }: SignalStep, payload: unknown): Promise<Verdict> {
  let value = payload
  try {
    if (schema !== undefined) {
      const result = await schema['~standard'].validate(payload)
      if (result.issues) return invalid(`${signal}: ${describeIssues(result.issues)}`)
      value = result.value
    }
    return { ok: true, output: encodeJson({ timedOut: false, payload: value }) }
  } catch (error) {
    return invalid(`${signal}: ${error instanceof Error ? error.message : 'its payload cannot be read'}`)
  }
}

function invalid(message: string): Verdict {
  return { ok: false, error: attemptError('signal_invalid', message, false) }
}

async function lookAtChild(
  { run }: HeldSaga,
  storage: Pick<StateStorage, 'getSaga'>,
  step: StepRecord,
): Promise<Verdict | undefined> {
  const id = sagaOfTopic(step.waitsFor)
  const child = id === undefined ? undefined : await storage.getSaga(id)
  if (child === undefined) return childFailed(`saga ${id} is gone`, false)
  if (child.state === 'Completed' || hasDoneItsPart(child, run.saga.id)) {
    return { ok: true, output: encodeJson(child.result) }
  }
  if (isStillOpen(child)) return undefined
  const again = child.state === 'Compensated' || child.state === 'TimedOut'
  return childFailed(`saga ${id} of ${child.definitionId} is ${child.state}`, again, child.error)
}

function childFailed(message: string, retryable: boolean, cause?: SagaError | null): Verdict {
  const error = attemptError('child_failed', message, retryable)
  return { ok: false, error: retellError({ ...error, cause: cause ?? null }) }
}

/** A child is undone by cancelling it; the coordinator that takes over the parent repeats the request. */
async function lookAtUndo(
  { run }: HeldSaga,
  storage: Pick<StateStorage, 'getSaga' | 'requestCancel'>,
  step: StepRecord,
): Promise<Verdict | undefined> {
  const id = sagaOfTopic(step.waitsFor)
  if (id === undefined) return undefined
  const by = `saga ${run.saga.id}`
  await storage.requestCancel(id, { by, reason: 'its parent is being undone', asParent: true })
  const child = await storage.getSaga(id)
  if (child === undefined) return { ok: true, output: undefined }
  if (child.state === 'Completed' || (child.pivotedAt !== null && isStillOpen(child))) {
    const message = `saga ${id} of ${child.definitionId} is past its pivot, and cannot be undone`
    return { ok: false, error: attemptError('child_not_undone', message, false) }
  }
  return isStillOpen(child) ? undefined : { ok: true, output: undefined }
}

function isStillOpen({ state, awaitingOperator }: SagaRecord): boolean {
  return awaitingOperator || ['Pending', 'Running', 'StepCompleted', 'Compensating'].includes(state)
}

/** All its steps are done, and only its parent can change that. */
function hasDoneItsPart(child: SagaRecord, parentId: string): boolean {
  const stays = child.cancelRequestedAt === null || child.pivotedAt !== null
  return (
    child.parentId === parentId && child.state === 'Running' && child.currentStep >= child.totalSteps && stays
  )
}
