import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invariants } from '../../src/doctor/index.js'
import { type Staged, stageDeliveries } from '../doctor/stage-deliveries.js'
import { useDatabase } from '../support/database.js'
import { runCli } from '../support/run-cli.js'

const folder = mkdtempSync(join(tmpdir(), 'sagapost-doctor-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('sagapost doctor', () => {
  const database = useDatabase()
  const doctor = async (...args: string[]) => {
    await database.pool.query('UPDATE sagapost.processes SET seen_at = sagapost.now()')
    return runCli(['doctor', ...args], { DATABASE_URL: database.url })
  }
  /** With the guards of one table off. */
  const tamper = async (table: string, change: string) => {
    await database.pool.query(`ALTER TABLE sagapost.${table} DISABLE TRIGGER USER`)
    const { rowCount } = await database.pool.query(change)
    expect(rowCount).toBeGreaterThan(0)
    await database.pool.query(`ALTER TABLE sagapost.${table} ENABLE TRIGGER USER`)
  }
  let staged: Staged

  it('[O6] prints the state, and that no part is running', async () => {
    const { code, stdout, stderr } = await doctor()
    expect(stderr).toBe('')
    const told = stdout
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith(' '))
    expect(told).toEqual([
      expect.stringMatching(/^ok +database +PostgreSQL \d+\.\d+, schema version \d+$/),
      'ok         writes        a transaction was committed, and the disk has room',
      // As the tests' server is started, for speed.
      expect.stringMatching(/^attention +durability +fsync is off: .* \[durability_off\]$/),
      expect.stringMatching(/^attention +durability +full_page_writes is off: /),
      expect.stringMatching(/^attention +durability +synchronous_commit is off: /),
      expect.stringMatching(/^attention +roles +the login \w+ is a superuser \[login_owns_schema\]$/),
      'ok         schema        matches this release',
      'failing    processes     no process is registered, and no work is waiting [nothing_runs]',
      'ok         backlog       no work is waiting',
      'ok         routing       every recent event is routed or queued',
      'ok         results       every recent result is applied or queued',
      expect.stringMatching(
        /^ok +secrets +all active subscriptions \(0\) have one; set SAGAPOST_MASTER_KEY /,
      ),
      "ok         clock         no row has a time in the future; the clock agrees with this machine's",
      expect.stringMatching(/^ok +sessions +none blocks others; \d+ of 2\d\d connections are in use$/),
      expect.stringMatching(
        /^ok +locks +a statement over all partitions takes \d+ locks, and the settings of PostgreSQL make room for 19200$/,
      ),
      'attention  vacuum        autovacuum is off for the server [autovacuum_off]',
      'ok         breakers      no endpoint is paused',
      'ok         dead_letters  none of the last day left to requeue',
    ])
    expect(stdout).toMatch(/^ {25}Set fsync = on in postgresql\.conf$/m)
    // Nothing that is published would be delivered.
    expect(code).toBe(1)
  })

  describe('on a database with deliveries at every stage', () => {
    beforeAll(async () => {
      staged = await stageDeliveries(database)
      // As if a process were there, and the secret of the subscription.
      await database.pool.query(
        `INSERT INTO sagapost.processes (id, hostname, pid, version, parts)
         VALUES ('test', 'test', 1, '0', '{api,router,orchestrator,worker,cleaner,sagas}')`,
      )
      await database.pool.query(
        `INSERT INTO sagapost.subscription_secrets (subscription_id, scheme, ciphertext)
         SELECT id, 'v1', '\\x01'::bytea || sha256('key') || sha256('secret') FROM sagapost.subscriptions`,
      )
    })

    it('[O6] reports that all invariants hold', async () => {
      const { code, stdout } = await doctor('--invariants')
      expect(stdout).toMatch(new RegExp(`^ok +invariants +all ${invariants.length} hold$`, 'm'))
      expect(stdout).toMatch(/^ok +dead_letters +none of the last day left to requeue$/m)
      expect(code).toBe(0)
    })

    it('[O6] reports what is not settled, as JSON', async () => {
      const { code, stdout } = await doctor('--settled', '--json')
      const { findings, violations } = JSON.parse(stdout)
      expect(findings).toContainEqual({ check: 'breakers', severity: 'ok', detail: 'no endpoint is paused' })
      expect(violations.map(({ invariant }: { invariant: string }) => invariant)).toContain(
        'nothing_left_open',
      )
      expect(code).toBe(1)
    })

    it('[S11, O6] keeps hashes of final rows, and reports what has changed since, each time', async () => {
      const file = join(folder, 'final')
      expect(await doctor('--hashes', file)).toMatchObject({ code: 0 })
      const kept = readFileSync(file, 'utf8')
      expect(await doctor('--hashes', file)).toMatchObject({ code: 0 })
      expect(readFileSync(file, 'utf8')).toBe(kept)
      await tamper(
        'webhook_delivery_sagas',
        `UPDATE sagapost.webhook_delivery_sagas SET correlation_id = 'another' WHERE id = ${staged.completed.deliveryId}`,
      )
      for (const time of ['first', 'second']) {
        const { code, stdout } = await doctor('--hashes', file)
        expect(stdout, time).toMatch(
          /^violated +final_rows_are_frozen\n +rule +S11 A final saga never changes\n +rule +J12 .+\n +rule +E2 .+\n +rule +D2 .+\n +found +1 ×.*\n +ids .*\n +The rules are explained in docs\/internals\/rules\.md$/m,
        )
        expect(code).toBe(1)
      }
      expect(readFileSync(file, 'utf8')).toBe(kept)
    })

    it('[S12, O6] names the broken rule and the rows, and exits with 1', async () => {
      await tamper(
        'webhook_delivery_sagas',
        `UPDATE sagapost.webhook_delivery_sagas SET attempt_count = attempt_count + 1 WHERE id = ${staged.completed.deliveryId}`,
      )
      const { code, stdout } = await doctor('--invariants', '--json')
      expect(JSON.parse(stdout).violations).toContainEqual({
        invariant: 'attempt_count_is_applied_results',
        rules: expect.arrayContaining(['S13']),
        detail: expect.stringContaining('such as'),
        ids: [staged.completed.deliveryId],
      })
      expect(code).toBe(1)
    })

    it('[R1, O6] finds lost events and disabled triggers; `events requeue` brings the events back', async () => {
      const sagapost = (...args: string[]) => runCli(args, { DATABASE_URL: database.url })
      await database.pool.query('DELETE FROM sagapost.event_routing_queue')
      await database.pool.query(
        `INSERT INTO sagapost.set_aside_events (event_id, event_type, error_code, reason) VALUES (999, 'stage', '23514', '')`,
      )
      await database.pool.query('ALTER TABLE sagapost.events DISABLE TRIGGER event_enqueue_routing')
      const { code, stdout } = await doctor()
      expect(stdout).toMatch(
        /^failing +schema +trigger event_enqueue_routing on sagapost.events is disabled \[trigger_disabled\]$/m,
      )
      expect(stdout).toMatch(/^failing +routing +1 of the last 10000 events were lost .* \[events_lost\]$/m)
      expect(stdout).toMatch(
        /^failing +backlog +set_aside: 1, .* \[events_set_aside\]\n +sagapost events set-aside shows why/m,
      )
      expect(code).toBe(1)
      const { violations } = JSON.parse((await doctor('--invariants', '--json')).stdout)
      expect(violations).toContainEqual(
        expect.objectContaining({ invariant: 'routed_or_queued', ids: [staged.unroutedEventId] }),
      )

      await database.pool.query('ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER event_enqueue_routing')
      expect(await sagapost('events', 'requeue')).toMatchObject({
        code: 0,
        stdout:
          'Queued 0 events that had been set aside and 1 event that had been lost\n' +
          'Removed 1 event that had been set aside, no longer stored\n',
      })
      expect(JSON.parse((await sagapost('events', 'requeue', '--json')).stdout)).toEqual({
        setAside: 0,
        gone: 0,
        lost: 0,
      })
      expect((await doctor()).stdout).toMatch(/^ok +routing /m)
    })

    it('[S13, O6] finds lost results; the statement of the page puts them back', async () => {
      const lose = () => database.pool.query('DELETE FROM sagapost.delivery_result_queue')
      expect((await lose()).rowCount).toBe(1)
      const { code, stdout } = await doctor()
      expect(stdout).toMatch(
        /^failing +results +1 result of the last 10000 events never reached the orchestrator \[results_lost\]\n +Put them back /m,
      )
      expect(code).toBe(1)
      const page = readFileSync(new URL('../../docs/operating/doctor.md', import.meta.url), 'utf8')
      const [, statement = ''] =
        /^```sql\n(INSERT INTO sagapost\.delivery_result_queue .*?)```/ms.exec(page) ?? []
      await database.pool.query(statement.replace('(42)', `(${staged.reported.deliveryId})`))
      expect((await doctor()).stdout).toMatch(/^ok +results +every recent result is applied or queued$/m)
    })

    it('[O6] names the part that does not work when work is waiting', async () => {
      await database.pool.query('DELETE FROM sagapost.processes')
      for (const queue of ['event_routing_queue', 'delivery_result_queue']) {
        await database.pool.query(
          `UPDATE sagapost.${queue} SET enqueued_at = sagapost.now() - interval '1 hour'`,
        )
      }
      const { code, stdout } = await doctor()
      expect(stdout).toMatch(
        /^failing +processes +no process runs the part router \(routing: 1, the oldest for 36\d\d s\) \[part_not_running\]\n +Start one: .* --only router$/m,
      )
      expect(stdout).toMatch(
        /^failing +processes +no process runs the part orchestrator \(.*results: 1, the oldest for 36\d\d s\)/m,
      )
      expect(stdout).toMatch(/^failing +processes +no process runs the part worker /m)
      expect(code).toBe(1)
    })
  })

  it('[O6] counts the dead letters that were not requeued', async () => {
    await tamper(
      'webhook_delivery_sagas',
      'DELETE FROM sagapost.webhook_delivery_sagas WHERE requeued_from IS NOT NULL',
    )
    const { rows } = await database.pool.query('SELECT count(*)::int AS letters FROM sagapost.dead_letters')
    expect((await doctor()).stdout).toMatch(
      new RegExp(
        `^attention +dead_letters +${rows[0].letters} of the last day not requeued .*\\n +sagapost dead-letters`,
        'm',
      ),
    )
  })

  it.each([
    ['a file of something else', () => join(folder, 'else'), /was not written by sagapost doctor --hashes/],
    ['a folder that is not there', () => join(folder, 'none', 'file'), /ENOENT/],
    ['a folder', () => folder, /EISDIR/],
  ])('[O6] refuses %s for the hashes', async (_, file, message) => {
    writeFileSync(join(folder, 'else'), 'hello\n')
    const { code, stderr } = await doctor('--hashes', file())
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/\[config_invalid\]\n$/)
    expect(code).toBe(1)
  })
})

describe('sagapost doctor on a database that is not migrated', () => {
  const database = useDatabase({ migrated: false })

  it('[O6] reports that the database is not migrated', async () => {
    const { code, stdout } = await runCli(['doctor', '--invariants'], { DATABASE_URL: database.url })
    expect(stdout).toMatch(/^failing +database +the database is not migrated: .* \[schema_outdated\]$/m)
    expect(code).toBe(1)
  })
})

describe('sagapost doctor --schema', () => {
  const database = useDatabase()
  beforeAll(async () => {
    await database.pool.query(
      `INSERT INTO sagapost.processes (id, hostname, pid, version, parts) VALUES ('test', 'test', 1, '0', '{worker}')`,
    )
  })
  const doctor = (...args: string[]) => runCli(['doctor', ...args], { DATABASE_URL: database.url })

  it('[G11, O6] compares the schema, prints the statements that repair it, and exits with 1', async () => {
    expect(await doctor('--schema')).toMatchObject({ code: 0 })
    await database.pool.query('CREATE INDEX of_the_operator ON sagapost.api_keys (name)')
    expect(await doctor('--schema')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^note +schema +index sagapost.of_the_operator .* \[index_extra\]$/m),
    })
    await database.pool.query('REVOKE SELECT ON sagapost.event_keys FROM event_ingest_writer')
    const { code, stdout } = await doctor('--schema')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^failing +schema +grant SELECT ON TABLE sagapost.event_keys TO event_ingest_writer is missing \[grant_missing\]\nGRANT SELECT ON TABLE sagapost.event_keys TO event_ingest_writer;$/m,
    )
    const { differences } = JSON.parse((await doctor('--schema', '--json')).stdout)
    await database.pool.query(differences.flatMap(({ mend }: { mend: string[] }) => mend).join(';'))
    expect(await doctor('--schema')).toMatchObject({ code: 0 })
  })
})
