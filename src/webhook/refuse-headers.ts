const HEADERS_MAX = 20
const HEADER_NAME_CHARACTERS_MAX = 100
const HEADER_VALUE_CHARACTERS_MAX = 2_000
const HEADERS_CHARACTERS_MAX = 8_000

/** Headers that frame the request or belong to the connection: setting these could smuggle in a second request. */
const connectionHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that Sagapost itself sets on the request. */
const ownHeaders = new Set([
  'accept-encoding',
  'content-encoding',
  'content-type',
  'traceparent',
  'tracestate',
  'user-agent',
])
const ownPrefixes = ['webhook-', 'sagapost-', 'proxy-']

const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const valuePattern = /^[\t\x20-\x7e]*$/

/**
 * Checks the headers that a subscription sets on its requests: null when they are acceptable, else the refused one and
 * the reason.
 */
export function refuseHeaders(headers: Record<string, string>): { field: string; detail: string } | null {
  const entries = Object.entries(headers)
  if (entries.length > HEADERS_MAX) return { field: 'headers', detail: `More than ${HEADERS_MAX} headers` }

  const seen = new Set<string>()
  let characters = 0
  for (const [field, value] of entries) {
    const name = field.toLowerCase()
    const detail = refuseName(field, name) ?? refuseValue(value)
    if (detail) return { field, detail }
    if (seen.has(name)) return { field, detail: 'The header is there twice, in different case' }
    seen.add(name)
    characters += field.length + value.length
  }
  return characters > HEADERS_CHARACTERS_MAX
    ? { field: 'headers', detail: `More than ${HEADERS_CHARACTERS_MAX} characters in all headers together` }
    : null
}

function refuseName(field: string, name: string): string | undefined {
  if (field.length > HEADER_NAME_CHARACTERS_MAX) {
    return `A header name has at most ${HEADER_NAME_CHARACTERS_MAX} characters`
  }
  if (!tokenPattern.test(field)) return 'A header name consists of letters, digits and -'
  if (isConnectionHeader(name) || ownHeaders.has(name) || ownPrefixes.some((own) => name.startsWith(own))) {
    return 'The header is reserved'
  }
  return undefined
}

function refuseValue(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'A header value is a string'
  if (value.length > HEADER_VALUE_CHARACTERS_MAX) {
    return `A header value has at most ${HEADER_VALUE_CHARACTERS_MAX} characters`
  }
  if (!valuePattern.test(value)) return 'A header value consists of visible ASCII characters, spaces and tabs'
  return undefined
}

/** Also checked before a request is sent, because a row that bypassed the API must not frame the request. */
export function isConnectionHeader(name: string): boolean {
  return connectionHeaders.has(name) || name.startsWith('proxy-')
}
