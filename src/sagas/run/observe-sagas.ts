import type { Logger } from 'pino'
import { logFields, type Recorders } from '../../observability/index.js'
import type { ObservedSaga, SagaObserver } from './observe-storage.js'

export type SagaRecorders = Pick<
  Recorders,
  'sagaStarted' | 'sagaFinished' | 'sagaAttemptEnded' | 'sagaRetried' | 'sagaRecovered' | 'sagaRefused'
>

const fieldsOf = ({ id, definition, traceId }: ObservedSaga) => ({
  ...logFields({ sagaId: id }),
  ...(definition !== undefined && { definition }),
  ...(traceId !== undefined && { trace_id: traceId }),
})

/** Records what sagas do in the metrics and the log. */
export function observeSagas(metrics: SagaRecorders, log: Logger): SagaObserver {
  return {
    started(saga) {
      metrics.sagaStarted()
      log.debug(fieldsOf(saga), 'saga started')
    },
    finished(saga, state, errorCode) {
      metrics.sagaFinished(state)
      const fields = { ...fieldsOf(saga), ...logFields({ errorCode }), state }
      if (state === 'Failed') log.warn(fields, 'saga waits for an operator: an undo failed for good')
      else log.info(fields, 'saga finished')
    },
    attemptEnded(saga, { kind, stepIndex, ok, durationMs }) {
      metrics.sagaAttemptEnded({ kind, ok, durationMs })
      const fields = { ...fieldsOf(saga), step_index: stepIndex, duration_ms: durationMs }
      log.debug(fields, `${kind} ${ok ? 'completed' : 'failed'}`)
    },
    retried(saga, stepIndex) {
      metrics.sagaRetried()
      log.debug({ ...fieldsOf(saga), step_index: stepIndex }, 'step retried')
    },
    recovered(saga) {
      metrics.sagaRecovered()
      log.warn(fieldsOf(saga), 'saga taken over: the lease of its coordinator expired')
    },
    refused(saga) {
      metrics.sagaRefused()
      log.warn(fieldsOf(saga), 'lease lost; another coordinator runs the saga')
    },
  }
}
