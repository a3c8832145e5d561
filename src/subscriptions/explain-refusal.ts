import { databaseErrorCode } from '../database/index.js'
import { errorCatalogue, SagapostError } from '../errors/index.js'

/**
 * Maps a refusal by a guard of the schema to the error that callers know. The guards are the second line of defence
 * behind Sagapost's own checks.
 */
export function explainRefusal(error: unknown): unknown {
  const code = databaseErrorCode(error)
  return code === undefined ? error : new SagapostError(code, errorCatalogue[code].title, { cause: error })
}
