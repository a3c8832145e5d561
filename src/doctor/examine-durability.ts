import type pg from 'pg'
import { databaseRoles } from '../database/index.js'
import { type Finding, finding, fine } from './finding.js'

// What is set for this database or for a login that may work here, and what the server has for all others: reset_val
// is what this session began with, before its first statement raised it.
const selectSettings = `
  WITH scoped AS (
    SELECT lower(split_part(entry, '=', 1)) AS name, split_part(entry, '=', 2) AS value, setrole, setdatabase,
           CASE WHEN setrole = 0 AND setdatabase = 0 THEN 'ALTER ROLE ALL'
                WHEN setrole = 0 THEN format('ALTER DATABASE %I', current_database())
                WHEN setdatabase = 0 THEN format('ALTER ROLE %I', pg_get_userbyid(setrole))
                ELSE format('ALTER ROLE %I IN DATABASE %I', pg_get_userbyid(setrole), current_database()) END AS remedy
    FROM pg_db_role_setting CROSS JOIN LATERAL unnest(setconfig) AS entry
    WHERE (setdatabase = 0 OR setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND (setrole = 0 OR EXISTS (
        SELECT FROM pg_roles AS part WHERE part.rolname = ANY ($1::text[]) AND pg_has_role(setrole, part.oid, 'MEMBER')))),
  lazy AS (SELECT * FROM scoped WHERE name = 'synchronous_commit' AND value IN ('off', 'local'))
  SELECT name, reset_val AS value, NULL AS remedy FROM pg_settings
  WHERE name IN ('fsync', 'full_page_writes') AND reset_val = 'off'
  UNION ALL
  SELECT name, value, remedy FROM lazy
  UNION ALL
  SELECT name, reset_val, NULL FROM pg_settings
  WHERE name = 'synchronous_commit' AND reset_val IN ('off', 'local')
    AND NOT EXISTS (SELECT FROM scoped WHERE scoped.name = 'synchronous_commit'
                    AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user)))
  ORDER BY name, remedy NULLS FIRST`

/** What an operator risks. */
const risks: Record<string, string> = {
  fsync: 'a crash of the machine can lose or damage all data',
  full_page_writes: 'after a crash of the machine, half-written pages stay damaged',
  synchronous_commit:
    'Sagapost raises it for its own commits; events that other transactions publish can be lost in a crash',
}

/** Whether what was acknowledged survives a crash [S22]. */
export async function examineDurability(pool: pg.Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ name: string; value: string; remedy: string | null }>(selectSettings, [
    databaseRoles,
  ])
  if (rows.length === 0) return [fine('durability', 'commits wait for the disk')]
  return rows.map(({ name, value, remedy }) =>
    finding(
      'durability',
      'durability_off',
      `${name} is ${value}: ${risks[name]}`,
      remedy === null ? `Set ${name} = on in postgresql.conf` : `${remedy} RESET ${name}`,
    ),
  )
}
