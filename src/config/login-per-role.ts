/** `postgres://{role}:…@pooler/…`: one login per role, for poolers that do not pass startup settings on. */
export const ROLE_PLACE = '{role}'

export function hasLoginPerRole(databaseUrl: string): boolean {
  return databaseUrl.includes(ROLE_PLACE)
}
