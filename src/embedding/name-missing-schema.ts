import { isSchemaMissing } from '../database/index.js'
import { SagapostError } from '../errors/index.js'

/** The same operations, but on a database that is not migrated they throw the error of start(). */
export function nameMissingSchema<Operations extends object>(operations: Operations): Operations {
  const named = Object.entries(operations).map(([name, operation]) => [
    name,
    typeof operation === 'function' ? nameIt(operation as Operation) : operation,
  ])
  return Object.fromEntries(named) as Operations
}

type Operation = (...given: unknown[]) => unknown

function nameIt(operation: Operation): Operation {
  return (...given) => {
    const answer = operation(...given)
    return answer instanceof Promise ? answer.catch(throwNamed) : answer
  }
}

function throwNamed(error: unknown): never {
  if (!isSchemaMissing(error)) throw error
  throw new SagapostError(
    'schema_outdated',
    `The database is not migrated, or was migrated by an older release: call migrate() (${(error as Error).message})`,
    { cause: error },
  )
}
