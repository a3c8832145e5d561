import { SagapostError } from '../errors/index.js'

export function invalidDefinition(message: string): SagapostError {
  return new SagapostError('saga_definition_invalid', message)
}
