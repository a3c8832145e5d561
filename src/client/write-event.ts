/** An event to publish: its payload as a value, or as JSON text that is stored byte for byte. */
export type NewEvent = {
  /** 1 to 100 characters of A–Z, a–z, 0–9, _, . and - */
  type: string
  /** A repeated key stores nothing new. */
  idempotencyKey?: string
} & ({ payload: unknown; payloadJson?: never } | { payloadJson: string; payload?: never })

/** The event in the API's format. Throws a TypeError for a payload that cannot be sent unchanged. */
export function writeEvent(event: NewEvent): string {
  const members = [`"type":${JSON.stringify(event.type)}`, `"payload":${writePayload(event)}`]
  if (event.idempotencyKey !== undefined)
    members.push(`"idempotencyKey":${JSON.stringify(event.idempotencyKey)}`)
  return `{${members.join(',')}}`
}

function writePayload({ payload, payloadJson }: NewEvent): string {
  if (payloadJson === undefined) {
    const written = JSON.stringify(payload) as string | undefined
    if (written === undefined) throw new TypeError('payload cannot be written as JSON')
    return written
  }
  try {
    JSON.parse(payloadJson) // other text could add members to the request
  } catch (error) {
    throw new TypeError(`payloadJson is not JSON: ${(error as Error).message}`, { cause: error })
  }
  // UTF-8 encoding would replace it with another character.
  if (/\p{Surrogate}/u.test(payloadJson)) throw new TypeError('payloadJson has a lone surrogate')
  return payloadJson
}
