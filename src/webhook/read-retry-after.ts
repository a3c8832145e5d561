/** The longest delay that a receiver can request; the schema caps the next attempt's time at the same value [S14]. */
const RETRY_AFTER_S_MAX = 86_400

/**
 * Retry-After as seconds from now: a number of seconds or an HTTP date. A date is compared with the response's own Date
 * header, when present, so that clock skew has no effect. Invalid values are ignored.
 */
export function readRetryAfter(retryAfter: string | undefined, date: string | undefined): number | undefined {
  const text = retryAfter?.trim()
  if (!text) return undefined
  if (/^\d+$/.test(text)) return Math.min(Number(text), RETRY_AFTER_S_MAX)
  const at = parseHttpDate(text)
  if (at === undefined) return undefined
  const now = parseHttpDate(date?.trim() ?? '') ?? Date.now()
  return Math.min(Math.max(Math.ceil((at - now) / 1000), 0), RETRY_AFTER_S_MAX)
}

const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const time = '\\d{2}:\\d{2}:\\d{2}'

/**
 * RFC 9110 has one date format to send and two more to accept. Date.parse alone would accept "1.5" and "x 7" as dates.
 */
const imfFixdate = new RegExp(`^${day}, \\d{2} ${month} \\d{4} ${time} GMT$`)
const rfc850Date = new RegExp(`^${day}[a-z]{3,6}, \\d{2}-${month}-\\d{2} ${time} GMT$`)
const asctimeDate = new RegExp(`^${day} ${month} [ \\d]\\d ${time} \\d{4}$`)

function parseHttpDate(text: string): number | undefined {
  const gmt = asctimeDate.test(text) ? `${text} GMT` : text
  if (gmt === text && !imfFixdate.test(text) && !rfc850Date.test(text)) return undefined
  const ms = Date.parse(gmt)
  return Number.isNaN(ms) ? undefined : ms
}
