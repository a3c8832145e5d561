import type { StepTransaction } from '../../src/sagas/definition.js'
import {
  type Coordinator,
  cancelSaga,
  createCoordinator,
  resolveSaga,
  sendSignal,
} from '../../src/sagas/index.js'
import type { CoordinatorOptions } from '../../src/sagas/run/coordinator.js'

type SagaSignal = Parameters<typeof sendSignal>[1]
type CancelRequest = Parameters<typeof cancelSaga>[2]
type Resolution = Parameters<typeof resolveSaga>[2]

/** A coordinator, and what the API and an application do to sagas: written by its storage, it is woken afterwards. */
export interface CommandedCoordinator extends Coordinator {
  /** With a client, in the caller's own transaction: there is nothing to see before its COMMIT. */
  signal(signal: SagaSignal, client?: StepTransaction): ReturnType<typeof sendSignal>
  cancel(sagaId: string, request: CancelRequest): ReturnType<typeof cancelSaga>
  resolve(sagaId: string, resolution: Resolution): ReturnType<typeof resolveSaga>
}

export function createCommandedCoordinator(options: CoordinatorOptions): CommandedCoordinator {
  const { storage } = options
  const coordinator = createCoordinator(options)
  const thenWake = async <Result>(written: Promise<Result>): Promise<Result> => {
    const result = await written
    coordinator.wake()
    return result
  }
  return Object.assign(coordinator, {
    signal(signal: SagaSignal, client?: StepTransaction) {
      const sent = sendSignal(storage, signal, client)
      return client === undefined ? thenWake(sent) : sent
    },
    cancel: (sagaId: string, request: CancelRequest) => thenWake(cancelSaga(storage, sagaId, request)),
    resolve: (sagaId: string, resolution: Resolution) => thenWake(resolveSaga(storage, sagaId, resolution)),
  })
}
