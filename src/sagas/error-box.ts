import { type DataBox, type DataPlace, DataUnreadableError, isSealed } from './data-box.js'
import type { SagaError } from './saga-error.js'

const nothing = { details: null, stack_trace: null, cause: null }

/**
 * [G15] The error as it is kept: what may tell of data (its details, stack and causes) is one sealed value in the place
 * of its details, so that it still has the shape of the schema. Code, type and message stay readable. It opens in any of
 * its saga's rows: steps, the saga and its history have the same error.
 */
export function sealError<Given extends SagaError | null | undefined>(
  error: Given,
  sagaId: string,
  box: DataBox,
): Given {
  if (!error || isSealed(error.details)) return error
  const { details, stack_trace, cause } = error
  if (!details && !stack_trace && !cause) return error
  const plain = JSON.stringify({ details, stack_trace, cause })
  const sealed = box.seal(plain, placeOf(sagaId))
  return sealed === plain ? error : { ...error, ...nothing, details: JSON.parse(sealed) }
}

/** The error as it was thrown. What this box cannot open is shown as it is kept: nothing depends on it. */
export function openError(kept: SagaError, sagaId: string, box: DataBox): SagaError
export function openError(kept: SagaError | null, sagaId: string, box: DataBox): SagaError | null
export function openError(kept: SagaError | null, sagaId: string, box: DataBox): SagaError | null {
  if (kept === null) return null
  // Those of earlier releases lack what there was nothing to say of.
  const error = { ...{ type: null, retryable: null, timestamp: null }, ...nothing, ...kept }
  const opened = openCopy(error.details, placeOf(sagaId), box)
  return opened === error.details ? error : { ...error, ...opened }
}

/** An object that is shown and never run with: as it is kept, where the box does not open it. */
export function openCopy(
  kept: Record<string, unknown> | null,
  place: DataPlace,
  box: DataBox,
): Record<string, unknown> | null {
  if (!isSealed(kept)) return kept
  try {
    return JSON.parse(box.open(JSON.stringify(kept), place))
  } catch (error) {
    if (error instanceof DataUnreadableError) return kept
    throw error
  }
}

const placeOf = (sagaId: string): DataPlace => ({ sagaId, column: 'error' })
