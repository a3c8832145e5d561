import { sagaMachine, sagaStepMachine } from '../model/index.js'
import type { SagaEventRecord, StateStorage } from '../sagas/index.js'
import type { SagaTestEvent, SagaTestRun } from './saga-test-run.js'

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
