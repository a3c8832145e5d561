import pg from 'pg'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import {
  checkReadiness,
  createRolePool,
  databaseRoles,
  loadMigrations,
  migrationsFolder,
} from '../../src/database/index.js'
import type { SystemExamination } from '../../src/doctor/examine-system.js'
import { examineSystem } from '../../src/doctor/index.js'
import { startSystem, systemParts } from '../../src/runtime/index.js'
import { createSecretBox, createSubscription } from '../../src/subscriptions/index.js'
import { adminKey, call, silent } from '../http/api-server.js'
import { installClock, moveClock } from '../support/clock.js'
import { useOwnPostgres } from '../support/own-postgres.js'
import { runCli } from '../support/run-cli.js'

const postgres = useOwnPostgres({
  settings: { max_connections: '60', max_prepared_transactions: '2' },
})
const masterKey = Buffer.alloc(32, 7)
const SUPERUSER_SLOTS = 3

/** A login that owns nothing, as `serve` has it. */
const plainUrl = () => {
  const url = new URL(postgres.server.url)
  url.username = 'plain'
  url.password = 'plain'
  return url.href
}

const asLogin =
  (databaseUrl: string): SystemExamination['as'] =>
  async (role, work, queryTimeoutMs) => {
    const pool = createRolePool({
      databaseUrl,
      role,
      connectionsMax: 1,
      ...(queryTimeoutMs !== undefined && { queryTimeoutMs }),
    })
    return await work(pool).finally(() => pool.end())
  }

async function examine(more: Partial<SystemExamination> = {}) {
  return examineSystem({
    as: asLogin(postgres.server.url),
    migrations: await loadMigrations(migrationsFolder),
    masterKey,
    ...more,
  })
}

const named = async (code: string, more: Partial<SystemExamination> = {}) =>
  (await examine(more)).filter((each) => each.code === code)

async function connect(application: string) {
  const client = new pg.Client({ connectionString: postgres.server.url, application_name: application })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

const pidOf = async (client: pg.Client): Promise<number> =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

beforeAll(async () => {
  const roles = databaseRoles.filter((role) => role !== 'event_publisher').join(', ')
  await postgres.admin.query(`CREATE ROLE plain LOGIN NOINHERIT PASSWORD 'plain' IN ROLE ${roles}`)
})

/** An active subscription, with a secret under this key. */
beforeAll(async () => {
  const pool = createRolePool({
    databaseUrl: postgres.server.url,
    role: 'subscription_admin',
    connectionsMax: 1,
  })
  await createSubscription(
    pool,
    { eventType: 'doctor.other', callbackUrl: 'https://8.8.8.8/' },
    { box: createSecretBox(masterKey), allowedCidrs: [] },
  ).finally(() => pool.end())
  await postgres.admin.query('UPDATE sagapost.subscriptions SET verified = true, active = true')
})

it('[O6] the doctor finds nothing wrong with a healthy running system', async () => {
  const env = { PORT: '0', SAGAPOST_API_KEY: adminKey, SAGAPOST_MASTER_KEY: masterKey.toString('base64') }
  const system = await startSystem({
    databaseUrl: plainUrl(),
    config: readConfig(env),
    only: systemParts,
    log: silent(),
  })
  try {
    const event = { type: 'doctor.healthy', payload: 1 }
    expect((await call(`${system.url}/v1/events`, 'POST', { key: adminKey, body: event })).status).toBe(202)
    // Asked as a superuser: the logins that count are those of the parts.
    const findings = await examine()
    expect(findings.filter(({ severity }) => severity !== 'ok')).toEqual([])
    expect(findings.find(({ check }) => check === 'processes')?.detail).toMatch(
      /^1 running, with api, router/,
    )
    expect(findings.find(({ check }) => check === 'secrets')?.detail).toBe(
      'the secrets of all active subscriptions (1) can be opened',
    )
  } finally {
    await system.stop()
  }
})

/** Made and taken back by statements; `more` is how the doctor is asked. */
const breaks: readonly {
  code: string
  by: string
  break: string
  mend: string
  detail: RegExp
  remedy: RegExp
  more?: Partial<SystemExamination>
}[] = [
  {
    code: 'nothing_runs',
    by: 'no process at all',
    break: 'SELECT',
    mend: 'SELECT',
    detail: /^no process is registered/,
    remedy: /sagapost serve/,
  },
  {
    code: 'part_not_running',
    by: 'an event that waits, and no router',
    break: `INSERT INTO sagapost.processes (id, hostname, pid, version, parts) VALUES ('a', 'host', 1, '1', '{worker}');
      INSERT INTO sagapost.events (event_type, payload) VALUES ('doctor.waits', '1')`,
    mend: 'DELETE FROM sagapost.processes; DELETE FROM sagapost.event_routing_queue',
    detail: /^no process runs the part router \(routing: 1, the oldest for \d+ s\)$/,
    remedy: /--only router$/,
  },
  {
    code: 'process_lost',
    by: 'a process that was killed',
    break: `INSERT INTO sagapost.processes (id, hostname, pid, version, parts, seen_at)
      VALUES ('a', 'host-7', 4711, '1', '{worker}', sagapost.now() - interval '5 minutes')`,
    mend: 'DELETE FROM sagapost.processes',
    detail: /^process 4711 on host-7 \(worker\) last reported at /,
    remedy: /check its host/,
  },
  {
    code: 'versions_differ',
    by: 'a deployment that did not end',
    break: `INSERT INTO sagapost.processes (id, hostname, pid, version, parts)
      VALUES ('a', 'host', 1, '0.1.0', '{worker}'), ('b', 'host', 2, '0.2.0', '{router}')`,
    mend: 'DELETE FROM sagapost.processes',
    detail: /^releases 0.1.0 and 0.2.0 are running$/,
    remedy: /restart/,
  },
  {
    code: 'trigger_disabled',
    by: 'the trigger that queues events, disabled',
    break: 'ALTER TABLE sagapost.events DISABLE TRIGGER event_enqueue_routing',
    mend: 'ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER event_enqueue_routing',
    detail: /event_enqueue_routing on sagapost.events is disabled/,
    remedy: /ENABLE ALWAYS TRIGGER event_enqueue_routing$/,
  },
  {
    code: 'index_missing',
    by: 'the index of claims, dropped',
    break: 'ALTER INDEX sagapost.idx_job_status_lease RENAME TO another',
    mend: 'ALTER INDEX sagapost.another RENAME TO idx_job_status_lease',
    detail: /idx_job_status_lease on sagapost.webhook_delivery_jobs is missing/,
    remedy: /doctor --schema/,
  },
  {
    code: 'grant_missing',
    by: 'a grant that was revoked',
    break: 'REVOKE SELECT ON sagapost.subscription_secrets FROM job_worker',
    mend: 'GRANT SELECT ON sagapost.subscription_secrets TO job_worker',
    detail: /SELECT ON TABLE sagapost.subscription_secrets TO job_worker is missing/,
    remedy: /^GRANT SELECT/,
  },
  {
    code: 'permission_denied',
    by: 'a grant that a check needs, revoked',
    break: 'REVOKE SELECT ON sagapost.subscription_secrets FROM job_worker',
    mend: 'GRANT SELECT ON sagapost.subscription_secrets TO job_worker',
    detail: /permission denied for table subscription_secrets/,
    remedy: /doctor --schema/,
  },
  {
    code: 'grant_missing',
    by: 'the schema, closed to the doctor itself',
    break: 'REVOKE USAGE ON SCHEMA sagapost FROM saga_readonly_role',
    mend: 'GRANT USAGE ON SCHEMA sagapost TO saga_readonly_role',
    detail: /USAGE ON SCHEMA sagapost TO saga_readonly_role is missing/,
    remedy: /^GRANT USAGE/,
  },
  {
    code: 'role_not_granted',
    by: 'a login that lost a role',
    break: 'CREATE ROLE partly LOGIN IN ROLE saga_readonly_role, schema_maintainer',
    mend: 'DROP ROLE partly',
    detail: /^partly cannot assume .*router_worker/,
    remedy: /^GRANT .*router_worker.* TO partly$/,
    more: {
      as: async (role, work) => {
        const url = new URL(postgres.server.url)
        url.username = 'partly'
        await postgres.admin.query(`ALTER ROLE partly PASSWORD 'partly'`)
        url.password = 'partly'
        const pool = createRolePool({ databaseUrl: url.href, role, connectionsMax: 1 })
        return await work(pool).finally(() => pool.end())
      },
    },
  },
  {
    code: 'login_owns_schema',
    by: 'a login that may work as the owner of a function',
    break:
      'CREATE ROLE owner; GRANT owner TO plain; ALTER FUNCTION sagapost.ensure_partitions() OWNER TO owner',
    mend: 'ALTER FUNCTION sagapost.ensure_partitions() OWNER TO sagapost; DROP ROLE owner',
    detail: /^the login plain owns the schema, or can assume the role of its owner$/,
    remedy: /a login of its own/,
    more: { as: (...asked) => asLogin(plainUrl())(...asked) },
  },
  {
    code: 'login_owns_schema',
    by: 'a superuser as the login',
    break: 'SELECT',
    mend: 'SELECT',
    detail: /^the login sagapost is a superuser$/,
    remedy: /a login of its own/,
  },
  {
    code: 'autovacuum_off',
    by: 'autovacuum, off for a table',
    break: 'ALTER TABLE sagapost.event_routing_queue SET (autovacuum_enabled = false)',
    mend: 'ALTER TABLE sagapost.event_routing_queue RESET (autovacuum_enabled)',
    detail: /^autovacuum_enabled is off for event_routing_queue$/,
    remedy: /^ALTER TABLE sagapost.event_routing_queue RESET/,
  },
  {
    code: 'database_read_only',
    by: 'a database that takes no writes',
    break: 'ALTER DATABASE sagapost SET default_transaction_read_only = on',
    mend: 'ALTER DATABASE sagapost RESET default_transaction_read_only',
    detail: /default_transaction_read_only is on/,
    remedy: /default_transaction_read_only/,
  },
  {
    code: 'schema_newer',
    by: 'a schema of a later release',
    break: 'UPDATE sagapost.saga_schema_version SET version = 1000 WHERE version = 1',
    mend: 'UPDATE sagapost.saga_schema_version SET version = 1 WHERE version = 1000',
    detail: /^the schema is at version 1000, /,
    remedy: /release/,
  },
  {
    code: 'schema_unreleased',
    by: 'a schema of a development version',
    break: `UPDATE sagapost.saga_schema_version SET name = 'tables' WHERE version = 2`,
    mend: `UPDATE sagapost.saga_schema_version SET name = 'events' WHERE version = 2`,
    detail: /its migration 2 is "tables", and that of this release is "events"$/,
    remedy: /empty database/,
  },
  {
    code: 'master_key_wrong',
    by: 'another master key',
    break: 'SELECT',
    mend: 'SELECT',
    detail: /sealed with another SAGAPOST_MASTER_KEY/,
    remedy: /SAGAPOST_MASTER_KEY/,
    more: { masterKey: Buffer.alloc(32, 8) },
  },
  {
    code: 'secret_damaged',
    by: 'a secret of which a bit has changed',
    break: `UPDATE sagapost.subscription_secrets
      SET ciphertext = set_byte(ciphertext, 40, get_byte(ciphertext, 40) # 1)`,
    mend: `UPDATE sagapost.subscription_secrets
      SET ciphertext = set_byte(ciphertext, 40, get_byte(ciphertext, 40) # 1)`,
    detail: /^A signing secret of subscription \d+ cannot be opened: it is damaged/,
    remedy: /rotate-secret/,
  },
  {
    code: 'secret_damaged',
    by: 'a secret of another format, without the key',
    break: 'UPDATE sagapost.subscription_secrets SET ciphertext = set_byte(ciphertext, 0, 9)',
    mend: 'UPDATE sagapost.subscription_secrets SET ciphertext = set_byte(ciphertext, 0, 1)',
    detail: /it is damaged$/,
    remedy: /rotate-secret/,
    more: { masterKey: undefined },
  },
  {
    code: 'secret_missing',
    by: 'a subscription without a secret',
    break: `UPDATE sagapost.subscription_secrets SET expires_at = '2001-01-01'`,
    mend: 'UPDATE sagapost.subscription_secrets SET expires_at = NULL',
    detail: /^active without a secret: subscription \d+$/,
    remedy: /rotate-secret/,
  },
]

describe('the doctor names', () => {
  it.each(breaks)('[O6] names $by: $code', async (broken) => {
    const client = await connect('breaker')
    const find = async () =>
      (await named(broken.code, broken.more)).filter(({ detail }) => broken.detail.test(detail))
    await client.query(broken.break)
    const found = await find()
    await client.query(broken.mend)
    expect(found).toMatchObject([{ remedy: expect.stringMatching(broken.remedy) }])
  })

  it('[O6] autovacuum that is off for the server: autovacuum_off', async () => {
    await postgres.set('autovacuum', 'off')
    onTestFinished(() => postgres.set('autovacuum', 'on'))
    await expect
      .poll(() => named('autovacuum_off'))
      .toMatchObject([{ detail: 'autovacuum is off for the server', remedy: expect.any(String) }])
  })

  it('[O6] synchronous_commit that is off, with the statement that resets it: durability_off', async () => {
    await postgres.admin.query('ALTER DATABASE sagapost SET synchronous_commit = off')
    onTestFinished(() =>
      postgres.admin.query('ALTER DATABASE sagapost RESET synchronous_commit').then(() => {}),
    )
    expect(await named('durability_off')).toMatchObject([
      { remedy: 'ALTER DATABASE sagapost RESET synchronous_commit' },
    ])
  })

  it("[O6] a clock of PostgreSQL that is not this machine's: clock_differs", async () => {
    const now = Date.now
    const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() - 100_000)
    onTestFinished(() => spy.mockRestore())
    expect(await named('clock_differs')).toMatchObject([
      { detail: expect.stringMatching(/^the database's clock is \d+ s ahead of this machine's$/) },
    ])
  })

  it('[O6] a server without a connection left, for itself and for the command: connections_exhausted', async () => {
    const clients: pg.Client[] = []
    const open = async (count: number) => {
      for (let made = 0; made < count; made++) clients.push(await connect('crowd'))
    }
    const used = async () =>
      (await postgres.admin.query('SELECT sum(numbackends)::int AS used FROM pg_stat_database')).rows[0].used
    await open(53 - (await used()))
    expect(await named('connections_nearly_exhausted')).toMatchObject([
      { detail: expect.stringMatching(/^5\d of 57 connections of the server are in use$/) },
    ])
    await open(60 - SUPERUSER_SLOTS - (await used()))
    expect(await named('connections_exhausted')).toMatchObject([{ severity: 'failing' }])
    await expect(open(10)).rejects.toMatchObject({ code: '53300' })
    const { code, stdout } = await runCli(['doctor', '--json'], { DATABASE_URL: postgres.server.url })
    expect(JSON.parse(stdout).findings).toMatchObject([
      { check: 'database', severity: 'failing', code: 'connections_exhausted', remedy: expect.any(String) },
    ])
    expect(code).toBe(1)
  })

  it('[O2, O6] a login at its limit, for every caller: connections_exhausted, database_unreachable', async () => {
    await postgres.admin.query('ALTER ROLE plain CONNECTION LIMIT 2')
    onTestFinished(() => postgres.admin.query('ALTER ROLE plain CONNECTION LIMIT -1').then(() => {}))
    const pools = [1, 2, 3].map(() =>
      createRolePool({ databaseUrl: plainUrl(), role: 'schema_maintainer', connectionsMax: 1 }),
    )
    onTestFinished(() => Promise.all(pools.map((pool) => pool.end())).then(() => {}))
    const [first, second, third] = pools as [pg.Pool, pg.Pool, pg.Pool]
    await first.query('SELECT')
    await second.query('SELECT')
    expect(await checkReadiness(third, await loadMigrations(migrationsFolder))).toMatchObject([
      { code: 'database_unreachable', cause: expect.stringContaining('too many connections for role') },
    ])
    expect(await named('connections_exhausted')).toMatchObject([
      { severity: 'failing', detail: '2 of 2 connections of the login plain are in use' },
    ])
    const { code, stdout } = await runCli(['doctor'], { DATABASE_URL: plainUrl() })
    expect(stdout).toMatch(
      /^failing +database +.*too many connections for role.* \[connections_exhausted\]$/m,
    )
    expect(code).toBe(1)
  })

  it('[O6] a check that waits for a lock does not stop the other checks: check_timed_out', async () => {
    const holder = await connect('psql')
    await holder.query('BEGIN; LOCK TABLE sagapost.partition_settings')
    const findings = await examine()
    expect(findings[1]).toMatchObject({
      check: 'database',
      code: 'check_timed_out',
      detail: 'version and partitions: no answer within 3000 ms',
    })
    expect(findings.find(({ check }) => check === 'vacuum')).toMatchObject({ severity: 'ok' })
  })

  it('[O6] a server that cannot be reached: database_unreachable, with exit code 1', async () => {
    const { code, stdout } = await runCli(['doctor'], { DATABASE_URL: 'postgres://x@127.0.0.1:1/x' })
    expect(stdout).toMatch(
      /^failing +database +.*ECONNREFUSED.* \[database_unreachable\]\n +Start PostgreSQL/,
    )
    expect(code).toBe(1)
  })

  it('[O6] every fault in the logins of a URL with {role}, and nothing when they are right', async () => {
    const roles = (
      await postgres.admin.query(
        `SELECT rolname FROM pg_roles WHERE rolname ~ '_(writer|worker|orchestrator|operator|admin|maintainer|role)$' AND rolname !~ '^pg_'`,
      )
    ).rows.map(({ rolname }) => rolname)
    for (const role of roles) {
      await postgres.admin.query(
        `CREATE ROLE login_${role} LOGIN PASSWORD 'pass' IN ROLE ${role}; ALTER ROLE login_${role} SET role = ${role}`,
      )
    }
    const url = `postgres://login_{role}:pass@127.0.0.1:${postgres.server.port}/sagapost`
    const env = { DATABASE_URL: url, SAGAPOST_MASTER_KEY: masterKey.toString('base64') }
    const { code, stdout, stderr } = await runCli(['doctor', '--schema', '--invariants'], env)
    expect([stdout.match(/^(?!ok).+$/gm), stderr, code]).toEqual([
      [expect.stringContaining('[nothing_runs]'), expect.stringContaining('Start one')],
      '',
      1,
    ])
    expect(stdout).toMatch(/^ok +roles +there is a login for each of 10 roles$/m)
    await postgres.admin.query(`ALTER ROLE login_router_worker NOLOGIN`)
    const broken = await runCli(['doctor'], env)
    expect(broken.stdout).toMatch(
      /^attention +roles +no connection as router_worker: .* \[role_not_granted\]$/m,
    )
    await postgres.admin.query(`ALTER ROLE login_saga_app_role CONNECTION LIMIT 0`)
    const limited = await runCli(['doctor'], env)
    expect(limited.stdout).toMatch(
      /^failing +roles +no connection as saga_app_role: .*too many connections .* \[connections_exhausted\]$/m,
    )
  })

  describe('with the clock', () => {
    beforeAll(() => installClock(postgres.admin))
    const shift = async (seconds: number) => {
      await moveClock(postgres.admin, `${seconds} s`)
      onTestFinished(() => moveClock(postgres.admin, `${-seconds} s`))
    }

    it('[O6] set back: clock_set_back', async () => {
      await postgres.admin.query(
        `INSERT INTO sagapost.events (event_type, payload) VALUES ('doctor.clock', '1')`,
      )
      await shift(-3600)
      expect(await named('clock_set_back')).toMatchObject([
        { detail: expect.stringMatching(/^the newest row is 3\d\d\d s ahead of the database's clock$/) },
      ])
    })

    it('[O6] ten minutes ahead: a transaction that is idle with a snapshot, and a prepared one: snapshot_held', async () => {
      const idle = await connect('monthly report')
      await idle.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM sagapost.events')
      const other = await connect('importer')
      await other.query(`BEGIN; CREATE TABLE public.prepared (id int); PREPARE TRANSACTION 'it''s left over'`)
      onTestFinished(() => postgres.admin.query(`ROLLBACK PREPARED 'it''s left over'`).then(() => {}))
      expect(await named('snapshot_held')).toEqual([])
      await shift(600)
      const found = await named('snapshot_held')
      expect(found).toContainEqual(
        expect.objectContaining({
          detail: expect.stringMatching(
            new RegExp(
              `^pid ${await pidOf(idle)} \\(monthly report, login sagapost\\) has had a transaction open for 6\\d\\d s, idle in transaction$`,
            ),
          ),
          remedy: `SELECT pg_terminate_backend(${await pidOf(idle)})`,
        }),
      )
      expect(found).toContainEqual(
        expect.objectContaining({
          detail: expect.stringMatching(
            /^the prepared transaction 'it''s left over' of sagapost has been open for 6\d\d s$/,
          ),
          remedy: `COMMIT PREPARED 'it''s left over' or ROLLBACK PREPARED 'it''s left over'`,
        }),
      )
    })

    it('[O6] ten minutes ahead: a session that waits for a lock: lock_waited_for', async () => {
      const holder = await connect('psql')
      await holder.query('BEGIN; LOCK TABLE sagapost.event_minutes')
      const waiter = await connect('sagapost router_worker')
      const waiterPid = await pidOf(waiter)
      const waiting = waiter.query('SELECT FROM sagapost.event_minutes')
      await shift(600)
      await expect
        .poll(() => named('lock_waited_for'))
        .toMatchObject([
          {
            detail: expect.stringMatching(
              new RegExp(
                `^pid ${waiterPid} \\(sagapost router_worker\\) has waited \\d+ s for a lock on event_minutes, held by pid ${await pidOf(holder)}$`,
              ),
            ),
            remedy: `SELECT pg_terminate_backend(${await pidOf(holder)})`,
          },
        ])
      await holder.query('ROLLBACK')
      await waiting
    })

    const rollBack = (gid: string) => postgres.admin.query(`ROLLBACK PREPARED '${gid}'`).catch(() => {})

    it('[O6] ten minutes ahead: a session that waits for a prepared transaction: lock_waited_for', async () => {
      const holder = await connect('importer')
      await holder.query(`BEGIN; LOCK TABLE sagapost.event_minutes; PREPARE TRANSACTION 'it''s held'`)
      const waiter = await connect('sagapost router_worker')
      onTestFinished(async () => void (await rollBack(`it''s held`)))
      const waiting = waiter.query('SELECT FROM sagapost.event_minutes')
      await shift(600)
      await expect
        .poll(() => named('lock_waited_for'))
        .toMatchObject([
          {
            detail: expect.stringMatching(
              / for a lock on event_minutes, held by the prepared transaction 'it''s held'$/,
            ),
            remedy: `COMMIT PREPARED 'it''s held' or ROLLBACK PREPARED 'it''s held'`,
          },
        ])
      await rollBack(`it''s held`)
      await waiting
    })

    it('[O6] of two prepared transactions with a lock on one table, none is named to be rolled back', async () => {
      const holder = await connect('importer')
      await holder.query(
        `BEGIN; LOCK TABLE sagapost.event_minutes IN SHARE MODE; PREPARE TRANSACTION 'writers wait'`,
      )
      await holder.query(
        `BEGIN; LOCK TABLE sagapost.event_minutes IN ACCESS SHARE MODE; PREPARE TRANSACTION 'none waits'`,
      )
      const waiter = await connect('sagapost router_worker')
      onTestFinished(async () => {
        for (const gid of ['writers wait', 'none waits']) await rollBack(gid)
      })
      const waiting = waiter
        .query('BEGIN; LOCK TABLE sagapost.event_minutes IN ROW EXCLUSIVE MODE; COMMIT')
        .catch(() => {})
      await shift(600)
      await expect
        .poll(() => named('lock_waited_for'))
        .toMatchObject([
          {
            detail: expect.stringMatching(/, held by a prepared transaction$/),
            remedy: expect.stringMatching(/^SELECT gid, .* FROM pg_prepared_xacts, /),
          },
        ])
      for (const gid of ['writers wait', 'none waits']) await rollBack(gid)
      await waiting
    })
  })
})
