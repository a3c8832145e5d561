import { errorCatalogue, SagapostError } from '../errors/index.js'

const EVENT_TYPE = /^[A-Za-z0-9_.-]{1,100}$/

export function isEventType(type: string): boolean {
  return typeof type === 'string' && EVENT_TYPE.test(type)
}

/** Prefixes of the events that Sagapost itself publishes, so that receivers can rely on their origin. */
const RESERVED_PREFIXES = ['saga.', 'sagapost.']

export function isReservedType(type: string): boolean {
  return RESERVED_PREFIXES.some((prefix) => type.startsWith(prefix))
}

/** For filters: a type that no event can have is a mistake, which the caller should learn of. */
export function checkEventType(type: string): void {
  if (!isEventType(type))
    throw new SagapostError('event_type_invalid', errorCatalogue.event_type_invalid.title)
}
