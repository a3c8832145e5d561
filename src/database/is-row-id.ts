const ID_MAX = 2n ** 63n - 1n

/**
 * Anything else is no row's id, and PostgreSQL would refuse the statement instead of finding nothing.
 * Leading zeros neither: an id is written in one way, and secrets are sealed to it as it is written.
 */
export function isRowId(id: string): boolean {
  return /^[1-9]\d{0,18}$/.test(id) && BigInt(id) <= ID_MAX
}
