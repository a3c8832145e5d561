import type { SagaEventRecord, StateStorage } from '../sagas/index.js'
import { type SagaState, sagaMachine, sagaStepMachine } from '../state-machines/index.js'

export interface SagaTestEvent {
  type: string
  /** Undefined: it is about the saga itself. */
  step: string | undefined
  oldState: string
  newState: string
  data: Record<string, unknown> | null
}

export interface SagaTestRun<Outputs = Record<string, unknown>> {
  id: string
  state: SagaState
  /** What the last step returned, once it is Completed. */
  result: unknown
  /** What the steps returned, by their names. */
  outputs: Partial<Outputs>
  error: { code: string; message: string } | null
  /** Of its steps, by their names: Completed, Compensated, Skipped and so on. */
  steps: Record<string, string>
  /** `reserve`, `undo reserve`: what was called since this run began, in this order. */
  calls: string[]
  history: SagaTestEvent[]
  /** How often the coordinator wrote since this run began: a crash can be before or after each of them. */
  writes: number
  /** How long all of it would have waited, by the test's clock. */
  waitedMs: number
}

export async function reportRun(
  storage: StateStorage,
  id: string,
  counted: Pick<SagaTestRun, 'calls' | 'writes' | 'waitedMs'>,
): Promise<SagaTestRun> {
  const saga = await storage.getSaga(id)
  if (saga === undefined) throw new Error(`there is no saga ${id}`)
  const steps = await storage.listSteps(id)
  const events = await storage.listEvents(id)
  return {
    id,
    state: saga.state,
    result: saga.result,
    outputs: Object.fromEntries(
      steps.filter(({ output }) => output !== undefined).map(({ name, output }) => [name, output]),
    ),
    error: saga.error && { code: saga.error.code, message: saga.error.message },
    steps: Object.fromEntries(steps.map(({ name, state }) => [name, state])),
    history: events.map((event) =>
      toEvent(
        event,
        steps.map(({ name }) => name),
      ),
    ),
    ...counted,
  }
}

function toEvent(event: SagaEventRecord, names: readonly string[]): SagaTestEvent {
  const { statuses } = event.stepIndex === null ? sagaMachine : sagaStepMachine
  return {
    type: event.type,
    step: event.stepIndex === null ? undefined : names[event.stepIndex],
    oldState: statuses[event.oldState] ?? '',
    newState: statuses[event.newState] ?? '',
    data: event.data,
  }
}
