import { checkTimeRange, type TimeRange } from '../../database/index.js'
import { SagapostError } from '../../errors/index.js'
import { checkEventType } from '../../model/index.js'

/** The form of every delivery error code (src/webhook/delivery-errors.ts). */
const ERROR_CODE = /^[a-z0-9_]{1,100}$/

/** Selects dead letters; every given condition must hold. */
export interface DeadLetterMatch extends TimeRange {
  subscriptionId?: string | undefined
  eventType?: string | undefined
  errorCode?: string | undefined
}

/** Throws `query_invalid` or `event_type_invalid` for a value that no dead letter can have. */
export function checkFilter({ eventType, errorCode, from, to }: DeadLetterMatch): void {
  if (eventType !== undefined) checkEventType(eventType)
  if (errorCode !== undefined && !ERROR_CODE.test(errorCode)) {
    throw new SagapostError('query_invalid', 'errorCode must be 1 to 100 characters of a–z, 0–9 and _')
  }
  checkTimeRange({ from, to })
}
