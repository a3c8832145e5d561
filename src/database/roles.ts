/** [O2] One database role per part: docs/reference/database-roles.md lists what each may do. */
export const databaseRoles = [
  'event_publisher',
  'event_ingest_writer',
  'router_worker',
  'saga_orchestrator',
  'job_worker',
  'dead_letter_operator',
  'subscription_admin',
  'api_key_admin',
  'schema_maintainer',
  'saga_app_role',
  'saga_readonly_role',
] as const

export type DatabaseRole = (typeof databaseRoles)[number]
