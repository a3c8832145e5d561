import type pg from 'pg'
import { databaseRoles } from '../database/index.js'
import type { SystemExamination } from './examine-system.js'
import { type Finding, finding, fine } from './finding.js'

// Of the login, whatever role the connection runs under.
const selectMissingRoles = `
  SELECT array_agg(wanted.name ORDER BY wanted.name) AS missing, session_user AS login
  FROM unnest($1::text[]) AS wanted (name)
  LEFT JOIN pg_catalog.pg_roles AS role ON role.rolname = wanted.name
  WHERE role.oid IS NULL OR NOT pg_catalog.pg_has_role(session_user, role.oid,
    CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)`

/** Of applications, which publish in SQL; no part works under it. */
const NOT_OF_A_PART = 'event_publisher'

/** Whether every part can work as its role. */
export async function examineRoles(
  pool: pg.Pool,
  { as, hasLoginPerRole }: SystemExamination,
): Promise<Finding[]> {
  if (hasLoginPerRole) return examineLogins(as)
  const { rows } = await pool.query<{ missing: string[] | null; login: string }>(selectMissingRoles, [
    databaseRoles,
  ])
  const { missing = null, login } = rows[0] ?? {}
  if (missing === null) return [fine('roles', `the login can assume all ${databaseRoles.length} roles`)]
  return [
    finding(
      'roles',
      'role_not_granted',
      `${login} cannot assume ${missing.join(', ')}`,
      `GRANT ${missing.join(', ')} TO ${login}`,
    ),
  ]
}

/** One after the other, as connections may be scarce. */
async function examineLogins(as: SystemExamination['as']): Promise<Finding[]> {
  const found: Finding[] = []
  const roles = databaseRoles.filter((role) => role !== NOT_OF_A_PART)
  for (const role of roles) {
    await as(role, (pool) => pool.query('SELECT')).catch((error: Error) => {
      found.push(finding('roles', 'role_not_granted', `no connection as ${role}: ${error.message}`))
    })
  }
  return found.length > 0 ? found : [fine('roles', `there is a login for each of ${roles.length} roles`)]
}
