const REDACTED = '[redacted]'

/** Names of confidential values. `headers` of subscriptions contain credentials under any name. */
const confidential =
  /secret|authorization|password|passphrase|cookie|token|signature|^headers$|(api|master|private|signing)[-_]?key|(database|connection)[-_]?(url|string)/i

/** pino prints nothing below. */
const DEPTH_MAX = 5
/** Bounds the work when a map is logged. */
const NAMES_KNOWN_MAX = 1_000
const knownNames = new Map<string, boolean>()

/**
 * The fields with every confidential value replaced, at any depth; the same object when there is none, so that the
 * line of a delivery pays a few look-ups. pino's own `redact` needs a path for each name and depth: with 15 names and
 * two levels it made a line cost 43 µs instead of 4.
 */
export function redactFields<Fields extends object>(fields: Fields): Fields {
  return redactValue(fields, 1) as Fields
}

function redactValue(value: unknown, depth: number): unknown {
  if (!isContainer(value) || depth > DEPTH_MAX) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => redactValue(item, depth + 1))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  let redacted: Record<string, unknown> | undefined
  for (const [name, inner] of Object.entries(value)) {
    const shown = isConfidential(name) && inner != null ? REDACTED : redactValue(inner, depth + 1)
    if (shown === inner) continue
    redacted ??= { ...value }
    redacted[name] = shown
  }
  return redacted ?? value
}

/** Plain objects and arrays; dates, errors and the like are left to those who serialize them. */
function isContainer(value: unknown): value is Record<string, unknown> | unknown[] {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}

function isConfidential(name: string): boolean {
  const known = knownNames.get(name)
  if (known !== undefined) return known
  const answer = confidential.test(name)
  if (knownNames.size < NAMES_KNOWN_MAX) knownNames.set(name, answer)
  return answer
}
