/** `postgres://{role}:…@pooler/…`: a login for each role, for poolers that pass no settings on. */
export const ROLE_PLACE = '{role}'

export function hasLoginPerRole(databaseUrl: string): boolean {
  return databaseUrl.includes(ROLE_PLACE)
}
