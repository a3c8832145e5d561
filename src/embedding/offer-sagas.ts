import { setTimeout as pause } from 'node:timers/promises'
import { SagapostError } from '../errors/index.js'
import { isFinal, sagaMachine } from '../model/index.js'
import {
  blindBox,
  type Coordinator,
  cancelSaga,
  createPostgresStorage,
  type DataBox,
  isSagaId,
  pageSagas,
  refuseReservedName,
  resolveSaga,
  type SagaDefinition,
  type SagaRecord,
  type SignalOutcome,
  type StartOptions,
  type StepRecord,
  sendSignal,
  showSaga,
  startSaga,
  toFailure,
} from '../sagas/index.js'
import type { Context } from './context.js'
import type { SagaInstance } from './saga-face.js'
import type { SagaEnd, SagaHandle, SagaOperations, SagaSignalReceipt, SagaStart } from './saga-types.js'

/** The interval for polling a saga that runs in another process. */
const LOOK_MS = 250

export interface SagasContext extends Pick<Context, 'pool' | 'wake'> {
  dataBox: DataBox | undefined
  /** Present while sagas run in this process. */
  coordinator(): Coordinator | undefined
  /** Aborted when the instance stops. */
  stopped: AbortSignal
  /** A saga was started or signalled in a transaction, and is invisible before its COMMIT. */
  onStartedIn(): void
}

/** Reads under saga_readonly_role, everything else under saga_app_role. */
export function offerSagas(context: SagasContext): SagaOperations {
  const { dataBox, stopped } = context
  const storage = (box = dataBox) =>
    createPostgresStorage({ pool: context.pool('saga_app_role'), ...(box && { dataBox: box }) })

  const end = async (id: string): Promise<SagaEnd<never>> => {
    for (;;) {
      if (stopped.aborted) throw stoppedError()
      const saga = await storage().getSaga(id)
      if (saga === undefined) throw new SagapostError('saga_not_found', `There is no saga ${id}`)
      if (isFinal(sagaMachine, saga.state) || saga.state === 'Failed') {
        return toEnd(saga, await storage().listSteps(id))
      }
      await pause(LOOK_MS, undefined, { signal: stopped }).catch(() => {})
    }
  }

  const handleOf = <Outputs>(handle: Pick<SagaHandle, 'id' | 'created'>, ended?: () => Promise<unknown>) => {
    const { id, created } = handle
    return {
      id,
      created,
      result() {
        // A coordinator in this process reports the end at once; without one, the saga is polled.
        const wait = async () => {
          await ended?.()
          return end(id)
        }
        return untilStopped(wait(), stopped)
      },
      cancel: (request) => operations.cancel(id, request),
    } as SagaHandle<Outputs>
  }

  const operations: SagaOperations = {
    async start(definition, input, options) {
      refuseReservedName(definition)
      const coordinator = context.coordinator()
      if (coordinator) {
        const handle = await coordinator.start(definition as never, input as never, given(options))
        return handleOf(handle, () => handle.result())
      }
      const { created, saga } = await startSaga(
        storage(),
        definition as unknown as SagaDefinition,
        input,
        given(options),
      )
      if (created) context.wake('sagas')
      return handleOf({ id: saga.id, created })
    },
    async startIn(client, definition, input, options) {
      refuseReservedName(definition)
      const { created, saga } = await startSaga(storage(), definition as unknown as SagaDefinition, input, {
        ...given(options),
        tx: client as never,
      })
      context.onStartedIn()
      return handleOf({ id: saga.id, created })
    },
    async signal(signal) {
      const receipt = receiptOf(await sendSignal(storage(), signal))
      if (!receipt.duplicate) context.wake('sagas')
      return receipt
    },
    async signalIn(client, signal) {
      const receipt = receiptOf(await sendSignal(storage(), signal, client as never))
      context.onStartedIn()
      return receipt
    },
    get: async (id) => showSaga(context.pool('saga_readonly_role'), id, dataBox),
    list: async (filter) => pageSagas(context.pool('saga_readonly_role'), filter),
    async cancel(id, { by, why }) {
      requireId(id)
      const outcome = await cancelSaga(storage(), id, { by, reason: why })
      context.wake('sagas')
      return outcome
    },
    async resolve(id, resolution) {
      requireId(id)
      await resolveSaga(storage(dataBox ?? blindBox), id, resolution)
      context.wake('sagas')
      return (await showSaga(context.pool('saga_readonly_role'), id, dataBox)) as SagaInstance
    },
    cleanUp: async (olderThan) => storage().cleanUpExpired(olderThan),
  }
  return operations
}

function toEnd({ state, result, error }: SagaRecord, steps: readonly StepRecord[]): SagaEnd<never> {
  const returned = steps.filter(({ output }) => output !== undefined)
  const outputs = Object.fromEntries(returned.map(({ name, output }) => [name, output]))
  return (
    state === 'Completed'
      ? { state, result, outputs, error: null }
      : { state, result: undefined, outputs, error: toFailure(error) }
  ) as SagaEnd<never>
}

function receiptOf({ created, receivedAt, expiresAt }: SignalOutcome): SagaSignalReceipt {
  return { receivedAt, expiresAt, duplicate: !created }
}

async function untilStopped<T>(work: Promise<T>, stopped: AbortSignal): Promise<T> {
  const over = new AbortController()
  const stop = new Promise<never>((_, reject) => {
    if (stopped.aborted) reject(stoppedError())
    stopped.addEventListener('abort', () => reject(stoppedError()), { once: true, signal: over.signal })
  })
  return Promise.race([work, stop]).finally(() => over.abort())
}

function requireId(id: string): void {
  if (typeof id === 'string' && isSagaId(id)) return
  throw new SagapostError('saga_not_found', `There is no saga ${String(id).slice(0, 40)}`)
}

function stoppedError(): SagapostError {
  return new SagapostError(
    'instance_stopped',
    'this Sagapost instance was stopped; the saga continues in another process, or later',
  )
}

/** Removes undefined fields. */
function given(options: SagaStart = {}): StartOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
