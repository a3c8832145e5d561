import type { SagaDefinition } from '../definition.js'
import { invalidDefinition } from '../invalid-definition.js'

/** The prefix of the names of Sagapost's own sagas. */
const RESERVED_PREFIX = 'sagapost.'

/** An application's definition under such a name would be given Sagapost's own sagas to run. */
export function refuseReservedName({ name }: Pick<SagaDefinition, 'name'>): void {
  if (!name.startsWith(RESERVED_PREFIX)) return
  throw invalidDefinition(`"${name}" is no name for your saga: ${RESERVED_PREFIX}… are Sagapost's own`)
}
