import type { Migration } from './load-migrations.js'

/** The columns of saga_schema_version that are compared. */
type Applied = Pick<Migration, 'version' | 'name'>

/**
 * Returns why no migration leads from this schema to the release, or undefined: the database applied a file of another
 * name under the same number. Releases never rename a migration, so only a development version can have done so.
 */
export function findForeignMigration(
  migrations: readonly Migration[],
  applied: readonly Applied[],
): string | undefined {
  for (const { version, name } of applied) {
    const known = migrations.find((migration) => migration.version === version)
    if (known && known.name !== name) {
      return `its migration ${version} is "${name}", and that of this release is "${known.name}"`
    }
  }
  return undefined
}
