import type pg from 'pg'
import { type Finding, finding, fine } from './finding.js'

const NAMED_MAX = 5

// Settings of the server, and of the tables of the schema with their partitions and TOAST tables: from the catalogue.
const selectOff = `
  SELECT name, true AS is_server FROM pg_catalog.pg_settings
  WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off'
  UNION ALL
  SELECT pg_catalog.quote_ident(pg_class.relname), false
  FROM pg_catalog.pg_class
  JOIN pg_catalog.pg_namespace AS schema ON schema.oid = relnamespace AND nspname = 'sagapost'
  LEFT JOIN pg_catalog.pg_class AS toast ON toast.oid = pg_class.reltoastrelid
  WHERE pg_class.relkind = 'r' AND EXISTS (
    SELECT FROM unnest(pg_class.reloptions || toast.reloptions) AS option
    WHERE lower(option) ~ '^autovacuum_enabled=(f|n|of|0)')
  ORDER BY is_server DESC, name`

/** Whether dead rows are removed: the queues are read past them, each time. */
export async function examineVacuum(pool: pg.Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ name: string; is_server: boolean }>(selectOff)
  const settings = rows.filter(({ is_server }) => is_server).map(({ name }) => name)
  const tables = rows.filter(({ is_server }) => !is_server).map(({ name }) => name)
  const more = tables.length > NAMED_MAX ? `, and ${tables.length - NAMED_MAX} more` : ''
  const found = [
    ...settings.map((name) =>
      finding(
        'vacuum',
        'autovacuum_off',
        `${name} is off for the server`,
        `Set ${name} = on in postgresql.conf`,
      ),
    ),
    ...(tables.length > 0
      ? [
          finding(
            'vacuum',
            'autovacuum_off',
            `autovacuum_enabled is off for ${tables.slice(0, NAMED_MAX).join(', ')}${more}`,
            tables
              .slice(0, NAMED_MAX)
              .map(
                (name) => `ALTER TABLE sagapost.${name} RESET (autovacuum_enabled, toast.autovacuum_enabled)`,
              )
              .join('; '),
          ),
        ]
      : []),
  ]
  return found.length > 0 ? found : [fine('vacuum', 'autovacuum is on')]
}
