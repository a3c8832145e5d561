export const BODY_BYTES = 550
const SEQUENCE_DIGITS = 10
const before = '{"note":"'
const between = '","sequence":"'
const after = '"}'
const note = 'x'.repeat(BODY_BYTES - before.length - between.length - SEQUENCE_DIGITS - after.length)

/**
 * The JSON text that every system posts, 550 bytes with a number of its own. The shorter name stands first, as
 * `jsonb` would put it, so that the text is the same whatever a system keeps it in.
 */
export function makeBody(sequence: number): string {
  return `${before}${note}${between}${String(sequence).padStart(SEQUENCE_DIGITS, '0')}${after}`
}

export function sequenceOf(body: Buffer): number {
  return Number(
    body.toString('latin1', body.length - after.length - SEQUENCE_DIGITS, body.length - after.length),
  )
}
