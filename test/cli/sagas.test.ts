import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { cleanUpSagas } from '../../src/sagas/index.js'
import { loadSagas } from '../schema/general-sagas/load-sagas.js'
import { useDatabase } from '../support/database.js'
import { runCli } from '../support/run-cli.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'
import { insertSaga, insertStuckSaga } from '../support/sagas.js'

const database = useDatabase()
const loaded = useDatabase()
const server = useSagapost(database)
const client = () => createClient({ baseUrl: server.url, apiKey: adminKey })
const env = () => ({
  SAGAPOST_URL: server.url,
  SAGAPOST_API_KEY: adminKey,
  DATABASE_URL: database.url,
  USER: 'ann',
})
const app = () => database.as('saga_app_role')

async function output(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(['sagas', ...args], env())
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}
const outputJson = async (args: string[]) => JSON.parse(await output([...args, '--json']))

async function failure(args: string[], more: Record<string, string> = {}): Promise<[unknown, string]> {
  const { code, stdout, stderr } = await runCli(['sagas', ...args], { ...env(), ...more })
  expect(stdout).toBe('')
  return [code, stderr]
}

describe('sagapost sagas', () => {
  it('[G14] list: a table, or JSON, by state, definition, trace and need of an operator', async () => {
    const traceId = 'c'.repeat(32)
    const id = await insertSaga(app(), { definition: 'cli', traceId })
    const stuck = await insertStuckSaga(app())
    const lines = (await output(['list', '--definition', 'cli'])).trimEnd().split('\n')
    expect(lines[0]).toMatch(/^ID +DEFINITION +STATE +STEP +CREATED +UPDATED +ERROR$/)
    expect(lines[1]).toMatch(new RegExp(`^${id} +cli@1 +Pending +0/1 +\\S.* -$`))
    const listed = async (...filter: string[]) =>
      (await outputJson(['list', ...filter])).data.map((saga: { id: string }) => saga.id)
    expect(await listed('--trace', traceId)).toEqual([id])
    expect(await listed('--stuck')).toEqual([stuck])
    expect(await listed('--state', 'Failed', '--all')).toEqual([stuck])
    expect(await output(['list', '--definition', 'none'])).toBe('No sagas\n')
  })

  it('[G14] show: the definition, its steps and its history', async () => {
    const id = await insertStuckSaga(app())
    const text = await output(['show', id])
    expect(text).toMatch(/^Saga +[0-9a-f-]{36}\nDefinition +stuck, version 1\n/)
    expect(text).toContain('an operator: sagapost sagas resolve')
    expect(text).toMatch(/\n0 +charge +Failed +1\/1 +Failed, 1\/1 +the bank is closed \[refused\]\n/)
    expect(text).toMatch(/\n1 +\S.* +saga\.started +- +Pending +Running +-\n/)
    expect(text).toContain('\nInput\n{"order":7}\n')
    expect(await outputJson(['show', id])).toEqual(JSON.parse(JSON.stringify(await client().sagas.get(id))))
  })

  it('[G14] cancel and resolve: recorded with the operator and the reason', async () => {
    const id = await insertSaga(app())
    expect(await output(['cancel', id, '--why', 'ordered twice'])).toBe(
      `Saga ${id} is Cancelled; none of its steps had run\n`,
    )
    expect(await client().sagas.get(id)).toMatchObject({
      cancelRequestedBy: 'ann (API key of the administrator)',
      cancelReason: 'ordered twice',
    })
    const stuck = await insertStuckSaga(app())
    const settle = ['resolve', stuck, '--action', 'resolve', '--by', 'bob', '--why', 'paid back']
    expect(await outputJson(settle)).toMatchObject({ state: 'Failed', awaitingOperator: false })
    expect((await client().sagas.get(stuck)).events.at(-1)?.data).toMatchObject({
      action: 'resolve',
      by: 'bob (API key of the administrator)',
      why: 'paid back',
    })
    expect(await failure(settle)).toEqual([1, expect.stringMatching(/\[saga_not_awaiting_operator\]\n$/)])
    expect(await failure(['cancel', stuck, '--why', 'x'])).toEqual([
      1,
      expect.stringMatching(/^sagapost: saga .+ is Failed.+\[saga_not_cancellable\]\n$/),
    ])
  })

  it.each([
    [['show', 'nobody'], 1, '[saga_not_found]'],
    [['show', '..'], 2, 'Must be a UUID'],
    [['cancel', 'nobody'], 2, '--why'],
    [['resolve', 'nobody', '--why', 'x'], 2, '--action'],
    [
      ['resolve', 'nobody', '--why', 'x', '--action', 'ignore'],
      2,
      'Allowed choices are retry, skip, resolve',
    ],
    [['list', '--state', 'Done'], 2, 'Allowed choices'],
    [['cleanup'], 2, '--older-than'],
    [['cleanup', '--older-than', '30'], 2, 'such as 30m'],
    [['cleanup', '--older-than', '30d', '--limit', '0'], 2, 'whole number of at least 1'],
    [['maintain', '--task', 'polish'], 2, 'Allowed choices are vacuum, reindex, partitions'],
    [['maintain', '--task', 'vacuum', '--drop-older-than', '30d'], 2, 'requires --task partitions'],
  ])('%j is refused with exit code %d', async (args, code, words) => {
    expect(await failure(args)).toEqual([code, expect.stringContaining(words)])
  })

  it('requires the operator’s name where the shell has no user', async () => {
    const [code, text] = await failure(['cancel', 'x', '--why', 'y'], { USER: '', LOGNAME: '' })
    expect([code, text]).toEqual([2, expect.stringContaining('--by <name>')])
  })
})

describe('sagapost sagas cleanup', () => {
  const count = async (condition: string) =>
    (await loaded.pool.query(`SELECT count(*)::int AS n FROM sagapost.saga_instances WHERE ${condition}`))
      .rows[0].n
  const old = `state IN (3, 5, 6, 7, 8) AND updated_at < sagapost.now() - interval '2 days'`

  it('[G8] removes ended sagas of an age with their history, up to a limit, and reports its progress', async () => {
    const instances = 20_000
    await loadSagas(loaded.pool, {
      instances,
      definitions: 3,
      stepsPerSaga: 1,
      eventsPerSaga: 1,
      ids: 'random',
    })
    await loaded.pool.query('ALTER TABLE sagapost.saga_instances DISABLE TRIGGER USER')
    await loaded.pool.query(
      `UPDATE sagapost.saga_instances SET awaiting_operator = true, updated_at = sagapost.now() - interval '9 days'
       WHERE id IN (SELECT id FROM sagapost.saga_instances WHERE state = 6 ORDER BY created_at LIMIT 3)`,
    )
    // None comes of that age while the test runs, however long that takes.
    await loaded.pool.query(
      `UPDATE sagapost.saga_instances SET updated_at = sagapost.now()
       WHERE updated_at BETWEEN sagapost.now() - interval '2 days' AND sagapost.now() - interval '1 day'`,
    )
    await loaded.pool.query('ALTER TABLE sagapost.saga_instances ENABLE TRIGGER USER')
    const there = await count(old)
    const seen: number[] = []
    const onProgress = (removed: number) => seen.push(removed)
    expect(
      await cleanUpSagas(loaded.as('saga_app_role'), { ageMs: 2 * 86_400_000, limit: 2_500, onProgress }),
    ).toBe(2_500)
    expect(seen).toEqual([1_000, 2_000, 2_500])
    expect(await count(old)).toBe(there - 2_500)

    const cleanup = ['sagas', 'cleanup', '--older-than', '2d']
    const { code, stdout, stderr } = await runCli(cleanup, { DATABASE_URL: loaded.url })
    const removed = there - 2_500 - 3
    expect([code, stdout]).toEqual([0, `Removed ${removed.toLocaleString('en')} sagas\n`])
    expect(stderr).toBe('Removed 10,000 sagas\n')
    expect(await count(`${old} AND NOT awaiting_operator`)).toBe(0)
    expect(await count('awaiting_operator')).toBe(3)
    const { rows } = await loaded.pool.query(
      'SELECT count(*)::int AS n FROM sagapost.saga_steps WHERE saga_id NOT IN (SELECT id FROM sagapost.saga_instances)',
    )
    expect(rows).toEqual([{ n: 0 }])
    expect(JSON.parse((await runCli([...cleanup, '--json'], { DATABASE_URL: loaded.url })).stdout)).toEqual({
      removed: 0,
    })
  })
})

describe('sagapost sagas tables and maintain', () => {
  it('[G16] tables: sizes, dead rows, last vacuum and the use of each index', async () => {
    await insertSaga(app(), { definition: 'weighed' })
    const text = await output(['tables'])
    expect(text).toMatch(/^TABLE +ROWS +DEAD +DATA +INDEXES +TOTAL +VACUUMED +ANALYZED\n/)
    expect(text).toMatch(/\nsaga_instances +[\d,]+ +[\d,]+ +\d+ kB +\d+ kB +\d+ kB +\S/)
    expect(text).toMatch(/\nINDEX +TABLE +SCANS +ROWS READ +SIZE\n/)
    expect(text).toMatch(/\nidx_saga_runnable +saga_instances +\d+ +\d+ +\d+ kB\n/)
    expect(text).toMatch(/\nSlow queries are not recorded: .+\n$/)
    const { sizes, indexes, slowQueries } = await outputJson(['tables'])
    expect(sizes[0]).toMatchObject({ tableName: expect.any(String), totalBytes: expect.any(Number) })
    expect(indexes[0]).toMatchObject({ scans: expect.any(Number), isValid: true })
    expect(slowQueries).toBeNull()
  })

  it('[G16] maintain: vacuum and partitions, or the given task, and reports what it did', async () => {
    expect(await output(['maintain'])).toBe(
      [
        ...['saga_instances', 'saga_steps', 'saga_events'].map((table) => `Vacuumed and analyzed ${table}`),
        'Created 0 and dropped 0 partitions of saga_events\n',
      ].join('\n'),
    )
    const tasks = ['maintain', '--task', 'partitions', 'reindex', '--drop-older-than', '90d']
    expect(await outputJson(tasks)).toEqual({
      reindex: ['saga_instances', 'saga_steps'],
      partitions: { made: 0, dropped: 0 },
    })
    const [table] = (await outputJson(['tables'])).sizes
    expect(Date.parse(table.vacuumedAt)).toBeGreaterThan(0)
  })

  it('[G16, G12] maintain: a login that does not own the schema gets one line about what it may not do', async () => {
    await database.pool.query(
      `CREATE ROLE upkeep LOGIN PASSWORD 'upkeep' IN ROLE schema_maintainer, saga_readonly_role`,
    )
    const DATABASE_URL = Object.assign(new URL(database.url), { username: 'upkeep', password: 'upkeep' }).href
    try {
      expect(await failure(['maintain'], { DATABASE_URL })).toEqual([
        1,
        expect.stringMatching(/^sagapost: only the owner of the schema.+\[permission_denied\]\n$/i),
      ])
      const { code, stderr } = await runCli(['sagas', 'maintain', '--task', 'partitions'], { DATABASE_URL })
      expect([code, stderr]).toEqual([0, ''])
    } finally {
      await database.pool.query('DROP ROLE upkeep')
    }
  })
})
