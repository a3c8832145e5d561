import { errorCatalogue, SagapostError } from '../errors/index.js'

const EVENT_TYPE = /^[A-Za-z0-9_.-]{1,100}$/

export function isEventType(type: string): boolean {
  return typeof type === 'string' && EVENT_TYPE.test(type)
}

/** For filters: a type that no event can have is a mistake that the caller should hear of. */
export function checkEventType(type: string): void {
  if (!isEventType(type))
    throw new SagapostError('event_type_invalid', errorCatalogue.event_type_invalid.title)
}
