import { type Beginning, contextBefore, type SagaRun } from '../decide/index.js'
import type { StepDefinition } from '../definition.js'
import { newSpanId } from '../new-ids.js'
import { readSignalKey } from '../signal-name.js'
import { deliveryTopic, sagaTopic, signalTopic } from '../topics.js'
import { encodeEvent } from './encode-event.js'
import { newSagaOf } from './start-saga.js'

/** Prepares what each of these steps is about to do: be called, or wait for something. */
export function prepareBeginnings(run: SagaRun, indexes: readonly number[]): Promise<Beginning[]> {
  return Promise.all(
    indexes.map(async (index) => {
      const spanId = newSpanId()
      try {
        const wait = await prepareWait(run, index, run.definition.steps[index], spanId)
        return { index, spanId, ...(wait ? { wait } : {}) }
      } catch {
        // The step is begun all the same, and fails with this error when it is called: see call-step-code.ts.
        return { index, spanId }
      }
    }),
  )
}

/** Undefined for a step that is called. Throws what the user's functions throw. */
export async function prepareWait(
  run: SagaRun,
  index: number,
  step: StepDefinition | undefined,
  spanId: string,
): Promise<Beginning['wait']> {
  const context = contextBefore(run, index) as never
  // decideNext evaluated `when` already; if it throws, the step fails with its error.
  if (step?.when !== undefined && !step.when(context))
    throw new Error('its condition answered yes, and then no')
  switch (step?.kind) {
    case 'sleep': {
      const wake = step.wake(context)
      return { topic: null, wake }
    }
    case 'signal': {
      const topic = signalTopic(step.signal, readSignalKey(step.key(context)))
      return { topic, ...(step.limitMs === undefined ? {} : { wake: { inMs: step.limitMs } }) }
    }
    case 'saga': {
      const { traceId, id: parentId } = run.saga
      const trace = traceId === null ? {} : { traceId, spanId }
      const child = await newSagaOf(step.child, step.childInput(context), { ...trace, parentId })
      return { topic: sagaTopic(child.id), child }
    }
    case 'delivery': {
      const publication = { stepIndex: index, spanId, ...encodeEvent(step.event(context)) }
      const topic = deliveryTopic(run.saga.id, index)
      return { topic, publication, ...(step.limitMs === undefined ? {} : { wake: { inMs: step.limitMs } }) }
    }
    default:
      return undefined
  }
}
