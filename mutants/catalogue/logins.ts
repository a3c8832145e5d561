import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const pools = testsOf('test/database/role-pool.test.ts')
const logins = testsOf('test/schema/two-logins.test.ts')
const connections = testsOf('test/runtime/connections.test.ts')(
  '[O2] run under the roles of its parts alone, as many as the page says: $only',
)
const orchestratorPart = 'src/runtime/start-orchestrator-part.ts'
const workerPart = 'src/runtime/start-worker-part.ts'
const api = 'src/http/server/start-api.ts'
const examination = 'src/doctor/examine-roles.ts'

/** Who the parts are to PostgreSQL. */
export const loginMutants: readonly Mutant[] = [
  {
    id: 'parts-work-as-the-login',
    rules: ['O2'],
    breaks: 'The parts work under the login of the URL, with all that it may do.',
    edits: [
      {
        file: 'src/database/connect.ts',
        find: 'asStartOptions({ ...sessionSettings, ...settings })',
        replace: "asStartOptions({ ...sessionSettings, ...settings, ...(role && { role: 'none' }) })",
      },
      { file: 'src/database/role-pool.ts', find: 'session.role !== role', replace: "session.role === ''" },
    ],
    test: pools('[O2] run under its role, with our settings, whatever the URL contains: %s'),
  },
  {
    id: 'dropped-role-is-taken',
    rules: ['O2'],
    breaks: 'A connection on which a pooler has dropped the role works as the login.',
    edits: [
      { file: 'src/database/role-pool.ts', find: 'session.role !== role', replace: "session.role === ''" },
    ],
    test: pools('[O2] are refused when the role was not set'),
  },
  {
    id: 'worker-as-the-orchestrator',
    rules: ['O2', 'J7'],
    breaks: 'The workers’ connections run under the orchestrator’s role.',
    edits: [
      { file: workerPart, find: "openPool('job_worker', 6)", replace: "openPool('saga_orchestrator', 6)" },
    ],
    test: connections,
  },
  {
    id: 'reads-as-the-administrator',
    rules: ['O2'],
    breaks: 'The API reads under the role that administers subscriptions and sees their headers.',
    edits: [
      {
        file: api,
        find: "reads: openPool('saga_readonly_role')",
        replace: "reads: openPool('subscription_admin')",
      },
    ],
    test: connections,
  },
  {
    id: 'more-connections-than-the-page-says',
    rules: ['O2'],
    breaks: 'The orchestrator opens more connections than the limit of its login was computed from.',
    edits: [
      {
        file: orchestratorPart,
        find: "openPool('saga_orchestrator', 4)",
        replace: "openPool('saga_orchestrator', 40)",
      },
    ],
    test: connections,
  },
  {
    id: 'partitions-with-the-callers-rights',
    rules: ['O2', 'O7'],
    breaks: 'Partitions are made with the rights of the part that asks for them, which has none for that.',
    edits: [
      {
        file: schema.partitions,
        find: 'CREATE FUNCTION sagapost.ensure_partitions() RETURNS bigint\nLANGUAGE plpgsql SECURITY DEFINER',
        replace: 'CREATE FUNCTION sagapost.ensure_partitions() RETURNS bigint\nLANGUAGE plpgsql',
      },
    ],
    test: logins('[O2] the login creates partitions by the function for it, and they belong to the owner'),
  },
  {
    id: 'partitions-of-any-range-by-anyone',
    rules: ['O2'],
    breaks: 'Every role may have a partition of any range made.',
    edits: [
      {
        file: schema.grants,
        append: `
DO $$ BEGIN
  EXECUTE (SELECT format('ALTER FUNCTION %s SECURITY DEFINER', oid::regprocedure) FROM pg_proc WHERE proname = 'make_partition');
  EXECUTE (SELECT format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', oid::regprocedure) FROM pg_proc WHERE proname = 'make_partition');
END $$;`,
      },
    ],
    test: logins('[O2] the login may not, as itself or as any of its roles: %s'),
  },
  {
    id: 'doctor-owner-unseen',
    rules: ['O2', 'O6'],
    breaks: 'The doctor names superusers alone, and no login that owns the schema.',
    edits: [{ file: examination, find: '(rolsuper OR EXISTS', replace: '(rolsuper AND EXISTS' }],
    test: logins('[O2, O6] the doctor names a login of a part that can work as the owner: login_owns_schema'),
  },
  {
    id: 'doctor-takes-itself-for-a-part',
    rules: ['O2', 'O6'],
    breaks: 'An administrator who asks the doctor is named as if the parts ran under his login.',
    edits: [{ file: examination, find: 'AND NOT EXISTS (SELECT FROM connected)', replace: '' }],
    test: logins(
      '[O2, O6] the doctor finds nothing wrong with the logins, also when an administrator runs it',
    ),
  },
]
