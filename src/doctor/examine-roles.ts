import type pg from 'pg'
import { databaseRoles } from '../database/index.js'
import type { SystemExamination } from './examine-system.js'
import { explainFailure } from './explain-failure.js'
import { type Finding, finding, fine } from './finding.js'

/** Of applications, which publish in SQL; no part works under it. */
const NOT_OF_A_PART = 'event_publisher'
const rolesOfParts = databaseRoles.filter((role) => role !== NOT_OF_A_PART)
/** pgbouncer lets a client wait for a login that the server refuses. */
const LOGIN_MS_MAX = 5_000
/** What the connections of the parts are called, of any process. */
const applications = [...rolesOfParts, 'listen'].map((name) => `sagapost ${name}`)

// Of the login, whatever role the connection runs under.
const selectMissingRoles = `
  SELECT array_agg(wanted.name ORDER BY wanted.name) AS missing, pg_catalog.quote_ident(session_user) AS login
  FROM unnest($1::text[]) AS wanted (name)
  LEFT JOIN pg_catalog.pg_roles AS role ON role.rolname = wanted.name
  WHERE role.oid IS NULL OR NOT pg_catalog.pg_has_role(session_user, role.oid,
    CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)`

// The logins that parts are connected as now; where no part is connected, this one. Sessions that are named by nothing
// are those of {role} logins, each of which is asked by itself. The catalogue and shared memory only.
const selectOwners = `
  WITH connected AS (
    SELECT DISTINCT usesysid AS oid FROM pg_catalog.pg_stat_activity
    WHERE datname = pg_catalog.current_database() AND pid <> pg_catalog.pg_backend_pid()
      AND application_name = ANY ($1::text[])),
  owner AS (
    SELECT nspowner AS oid FROM pg_catalog.pg_namespace WHERE nspname = 'sagapost'
    UNION SELECT relowner FROM pg_catalog.pg_class WHERE relnamespace = 'sagapost'::pg_catalog.regnamespace
    UNION SELECT proowner FROM pg_catalog.pg_proc WHERE pronamespace = 'sagapost'::pg_catalog.regnamespace)
  SELECT rolname AS login, rolsuper AS is_superuser
  FROM pg_catalog.pg_roles AS login
  WHERE (login.oid IN (SELECT oid FROM connected)
         OR login.rolname = session_user AND NOT EXISTS (SELECT FROM connected))
    AND (rolsuper OR EXISTS (SELECT FROM owner WHERE pg_catalog.pg_has_role(login.oid, owner.oid, 'MEMBER')))
  ORDER BY rolname`

interface Owner {
  login: string
  is_superuser: boolean
}

/** Whether every part can work as its role, and can do no more than that. */
export async function examineRoles(pool: pg.Pool, examination: SystemExamination): Promise<Finding[]> {
  if (examination.hasLoginPerRole) return examineLogins(examination)
  const { rows } = await pool.query<{ missing: string[] | null; login: string }>(selectMissingRoles, [
    rolesOfParts,
  ])
  const { missing = null, login } = rows[0] ?? {}
  const owners = examination.isEmbedded ? [] : await findOwners(pool, applications)
  const found = [
    ...(missing === null
      ? []
      : [
          finding(
            'roles',
            'role_not_granted',
            `${login} cannot assume ${missing.join(', ')}`,
            `GRANT ${missing.join(', ')} TO ${login}`,
          ),
        ]),
    ...owners.map(describeOwner),
  ]
  return found.length > 0
    ? found
    : [fine('roles', `the login can assume all ${rolesOfParts.length} roles of the parts`)]
}

/** One after the other, as connections may be scarce. */
async function examineLogins({ as }: SystemExamination): Promise<Finding[]> {
  const found: Finding[] = []
  for (const role of rolesOfParts) {
    const owners = as(role, (pool) => findOwners(pool, []), LOGIN_MS_MAX)
    found.push(
      ...(await owners.then(
        (those) => those.map(describeOwner),
        (error: Error) => [explainRefusal(role, error)],
      )),
    )
  }
  return found.length > 0
    ? found
    : [fine('roles', `there is a login for each of ${rolesOfParts.length} roles`)]
}

/** Of a login that is there, what it lacks; otherwise the login itself is missing. */
function explainRefusal(role: string, error: Error): Finding {
  const { code } = explainFailure('roles', error)
  const isThere = code === 'login_settings_missing' || code === 'connections_exhausted'
  return finding('roles', isThere ? code : 'role_not_granted', `no connection as ${role}: ${error.message}`)
}

async function findOwners(pool: pg.Pool, named: readonly string[]): Promise<Owner[]> {
  const { rows } = await pool.query<Owner>(selectOwners, [named])
  return rows
}

function describeOwner({ login, is_superuser }: Owner): Finding {
  return finding(
    'roles',
    'login_owns_schema',
    `the login ${login} ${is_superuser ? 'is a superuser' : 'owns the schema, or can assume the role of its owner'}`,
  )
}
