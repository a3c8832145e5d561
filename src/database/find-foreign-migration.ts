import type { Migration } from './load-migrations.js'

/** What saga_schema_version has of a migration. */
type Applied = Pick<Migration, 'version' | 'name'>

/**
 * Undefined, or why no migration leads from this schema to the release: under the number of one of its files, the database
 * applied a file of another name. Releases never rename a migration, so only a development version can have done so.
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
