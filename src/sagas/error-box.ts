import { type DataBox, type DataPlace, DataUnreadableError, isSealed } from './data-box.js'
import type { SagaError } from './saga-error.js'

const nothing = { details: null, stack_trace: null, cause: null }

/**
 * [G15] Seals the parts of an error that may reveal data (details, stack, causes) into one value in its details, so
 * that it keeps the schema's shape. Code, type and message stay readable. It opens in every row of its saga: the steps,
 * the saga and its history share errors.
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

/** The original error. What this box cannot open is returned sealed: nothing depends on it. */
export function openError(kept: SagaError, sagaId: string, box: DataBox): SagaError
export function openError(kept: SagaError | null, sagaId: string, box: DataBox): SagaError | null
export function openError(kept: SagaError | null, sagaId: string, box: DataBox): SagaError | null {
  if (kept === null) return null
  // Errors of earlier releases omit absent properties.
  const error = { ...{ type: null, retryable: null, timestamp: null }, ...nothing, ...kept }
  const opened = openCopy(error.details, placeOf(sagaId), box)
  return opened === error.details ? error : { ...error, ...opened }
}

/** An object that is only displayed: returned sealed when the box does not open it. */
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
