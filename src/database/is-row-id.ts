const ID_MAX = 2n ** 63n - 1n

/**
 * PostgreSQL would refuse any other text instead of finding no row. Leading zeros are refused as well: an id has one
 * spelling, and secrets are sealed to it.
 */
export function isRowId(id: string): boolean {
  return /^[1-9]\d{0,18}$/.test(id) && BigInt(id) <= ID_MAX
}
