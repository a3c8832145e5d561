import { databaseErrorCode } from '../database/index.js'
import { errorCatalogue, SagapostError } from '../errors/index.js'

/** What a guard of the schema refused, as the error that the caller knows. The second line behind our own checks. */
export function explainRefusal(error: unknown): unknown {
  const code = databaseErrorCode(error)
  return code === undefined ? error : new SagapostError(code, errorCatalogue[code].title, { cause: error })
}
