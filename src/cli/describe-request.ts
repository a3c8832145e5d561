import pc from 'picocolors'
import type { ListenedRequest } from './read-listened-request.js'
import { toJson } from './to-json.js'

type AnsweredRequest = ListenedRequest & { status: number | null }

const PAYLOAD_CHARACTERS_MAX = 300
const VALUE_CHARACTERS_MAX = 100

/** One human-readable line. */
export function describeRequest(request: AnsweredRequest): string {
  const { at, attempt, status } = request
  return [
    pc.dim(timeOf(at)),
    pc.bold(shorten(request.type ?? 'no event type', VALUE_CHARACTERS_MAX)),
    shorten(request.id ?? 'no webhook-id', VALUE_CHARACTERS_MAX),
    ...(attempt === null ? [] : [`attempt ${attempt}`]),
    describeVerification(request),
    status === null ? pc.red('no response: the sender disconnected') : colour(status),
    shorten(request.body.toString(), PAYLOAD_CHARACTERS_MAX),
  ].join('  ')
}

/** One JSON line. The payload is the parsed body, or its text if it is not JSON. */
export function toJsonLine({ body, challenge: _, ...request }: AnsweredRequest): string {
  try {
    return toJson({ ...request, payload: JSON.parse(body.toString()) })
  } catch {
    return toJson({ ...request, body: body.toString() })
  }
}

function describeVerification({ verified, refusal }: AnsweredRequest): string {
  if (verified === null) return pc.yellow('not verified')
  return verified ? pc.green('✓ verified') : pc.red(`✗ ${refusal}`)
}

function colour(status: number): string {
  return status < 300 ? pc.green(status) : pc.red(status)
}

function timeOf(at: Date): string {
  const parts = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0'))
  return `${parts.join(':')}.${String(at.getMilliseconds()).padStart(3, '0')}`
}

/**
 * Untrusted text for a terminal: characters that move the cursor, set colours or change the text direction are shown as
 * escapes.
 */
function shorten(text: string, charactersMax: number): string {
  const characters = [...text.slice(0, 2 * charactersMax + 2)]
  const short = characters.slice(0, charactersMax).join('')
  const line = short.replace(/\s*\n\s*/g, ' ').replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
  return characters.length > charactersMax ? `${line}… (${text.length} characters)` : line
}
