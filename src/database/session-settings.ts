/**
 * Settings that our SQL and the parsing of its results rely on, from the first statement on and whatever the login or
 * database sets. Above all the search path: with another one, a function made by another user could run with the
 * login's rights. `default_transaction_read_only` is absent: a fenced database stays read-only.
 */
export const sessionSettings = {
  search_path: 'pg_catalog,pg_temp',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  // 185 deliveries/s with it on Debian's 15, 2,930 without: docs/internals/hot-statements.md#no-compiler.
  jit: 'off',
} as const

/** The settings in the form that a server takes at connection start. */
export function asStartOptions(settings: Record<string, string>): string[] {
  return Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
}

/**
 * Looks at a new connection, and mends what it lacks. What cannot be given at its start is set here: `remote_apply` and
 * `remote_write` must stay, and PostgreSQL before 17 does not know transaction_timeout. Behind a pooler, whose process id
 * ($1) is not the server's, a setting would stay with a server connection that others use: then the login must bring
 * along what data would be lost or misread without, and what it does not is answered as `lacking`.
 */
export const settleSession = `
  WITH mended AS MATERIALIZED (
    SELECT name, value, CASE WHEN pg_backend_pid() = $1 THEN set_config(name, value, false) END AS set_to
    FROM unnest($2::text[], $3::text[]) AS wanted (name, value)
    CROSS JOIN LATERAL current_setting(name, true) AS found
    WHERE CASE name WHEN 'synchronous_commit' THEN found IN ('off', 'local')
                    WHEN 'DateStyle' THEN found NOT LIKE 'ISO,%'
                    WHEN 'extra_float_digits' THEN found::int < 1
                    ELSE found <> value END)
  SELECT current_user AS role, session_user AS login,
         (SELECT string_agg(format('ALTER ROLE %I SET %s = %L', session_user, name, value), '; ') FROM mended
          WHERE set_to IS NULL AND name IN ('synchronous_commit', 'DateStyle', 'standard_conforming_strings', 'array_nulls',
                                            'default_transaction_isolation', 'extra_float_digits')) AS lacking`

export interface SettledSession {
  role: string
  login: string
  lacking: string | null
}

/** The parameters of `settleSession`: the server's process id as the connection knows it, and all settings. */
export function settleValues(
  processId: number | undefined,
  settings: Record<string, string> = {},
): unknown[] {
  const wanted = {
    ...sessionSettings,
    ...settings,
    synchronous_commit: 'on',
    transaction_timeout: '0',
  }
  return [processId, Object.keys(wanted), Object.values(wanted)]
}
