import { refuseEvent } from '../../model/index.js'
import type { EventToDeliver } from '../definition.js'
import { encodeJson } from '../json.js'
import type { Publication } from '../records.js'

/** Encodes the event as it is stored and sent. Throws the API's error for an invalid event. */
export function encodeEvent(event: EventToDeliver): Pick<Publication, 'type' | 'payload'> {
  const { type, payload: given } = event ?? {}
  const payload = encodeJson(given)
  if (payload === undefined) throw new TypeError('an event needs a payload')
  const refusal = refuseEvent({ type, payload })
  if (refusal) throw Object.assign(new TypeError(refusal.detail), { code: refusal.code })
  return { type, payload }
}
