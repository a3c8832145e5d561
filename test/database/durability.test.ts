import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { connect, migrate, startEmbeddedPostgres } from '../../src/database/index.js'
import { insertDelivery, insertJob } from '../support/fixtures.js'

it('[S22, J10] what was acknowledged is there after the server was killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sagapost-durable-'))
  const dataDir = join(folder, 'data')
  const first = await startEmbeddedPostgres({ dataDir })
  await migrate({ databaseUrl: first.url })
  const client = new pg.Client({ connectionString: first.url })
  client.on('error', () => {})
  await client.connect()
  const completed = await insertDelivery(client, 'Completed')
  const dead = await insertDelivery(client, 'DeadLettered')
  const job = await insertJob(client, await insertDelivery(client, 'InProgress'), 'Failed')
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  await client.end().catch(() => {})
  await first.stop()

  const second = await startEmbeddedPostgres({ dataDir })
  try {
    const again = await connect(second.url)
    const statusOf = async (table: string, id: string) =>
      (await again.query(`SELECT status FROM sagapost.${table} WHERE id = $1`, [id])).rows[0]?.status
    expect(await statusOf('webhook_delivery_sagas', completed.id)).toBe('Completed')
    expect(await statusOf('webhook_delivery_sagas', dead.id)).toBe('DeadLettered')
    expect(await statusOf('webhook_delivery_jobs', job)).toBe('Failed')
    expect(
      (await again.query('SELECT FROM sagapost.dead_letters WHERE saga_id = $1', [dead.id])).rowCount,
    ).toBe(1)
    await again.end()
  } finally {
    await second.stop()
    await rm(folder, { recursive: true })
  }
})
