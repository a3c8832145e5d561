import { SagapostError } from '../errors/index.js'

/** `from` inclusive, `to` exclusive. */
export interface TimeRange {
  from?: Date | undefined
  to?: Date | undefined
}

const TIME_MIN = Date.parse('0001-01-01T00:00:00Z')
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** Refuses values that PostgreSQL would refuse with a message of its own. An empty range is no error. */
export function checkTimeRange({ from, to }: TimeRange): void {
  for (const [name, time] of Object.entries({ from, to })) {
    if (time === undefined) continue
    const at = time instanceof Date ? time.getTime() : Number.NaN
    if (!(at >= TIME_MIN && at <= TIME_MAX)) {
      throw new SagapostError('query_invalid', `${name} must be a time between the years 1 and 9999`)
    }
  }
}
