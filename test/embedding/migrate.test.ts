import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { startEmbeddedPostgres } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { useInstances } from './use-instances.js'

const database = useDatabase({ migrated: false })
const { embed } = useInstances()

it('[G11, O2] a schema that is not migrated is reported; migrate() or migrate: true migrates it', async () => {
  const instance = embed({ databaseUrl: database.url })
  await expect(instance.start()).rejects.toMatchObject({
    code: 'schema_outdated',
    message: expect.stringContaining('not migrated'),
  })
  const [first] = await instance.migrate()
  expect(first).toEqual({ version: 1, name: 'clock_and_roles' })
  await instance.start()
  expect(await instance.migrate()).toEqual([])

  const again = embed({ databaseUrl: database.url, migrate: true })
  await again.start()
})

it('[G11, O2] every operation on a schema that is not migrated throws schema_outdated, not the driver’s error', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const bare = new URL(database.url)
  bare.pathname = `${name}_bare`
  await database.pool.query(`CREATE DATABASE ${name}_bare`)
  const instance = embed({ databaseUrl: bare.href })
  const client = new pg.Client({ connectionString: bare.href })
  await client.connect()
  const event = { type: 'order.placed', payload: 1 }
  const calls: Record<string, () => Promise<unknown>> = {
    publish: () => instance.publish(client, event),
    publishMany: () => instance.events.publishMany([event]),
    'publishMany with a key': () => instance.events.publishMany([{ ...event, idempotencyKey: 'a' }]),
    'events.get': () => instance.events.get('1'),
    'events.list': () => instance.events.list(),
    'deliveries.get': () => instance.deliveries.get('1'),
    'deliveries.list': () => instance.deliveries.list(),
    'deadLetters.get': () => instance.deadLetters.get('1'),
    'deadLetters.list': () => instance.deadLetters.list(),
    'deadLetters.requeue': () => instance.deadLetters.requeue('1'),
    'deadLetters.countMatching': () => instance.deadLetters.countMatching({ all: true }),
    'subscriptions.list': () => instance.subscriptions.list(),
    'subscriptions.get': () => instance.subscriptions.get('1'),
    'sagas.list': () => instance.sagas.list(),
    'sagas.get': () => instance.sagas.get('1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a'),
    'sagas.signal': () => instance.sagas.signal({ name: 'paid', key: '1' }),
  }
  const codes: Record<string, unknown> = {}
  for (const [call, make] of Object.entries(calls)) {
    codes[call] = await make().then(
      () => 'no error',
      (error) => error.code,
    )
  }
  await client.end()
  await instance.stop()
  await database.pool.query(`DROP DATABASE ${name}_bare WITH (FORCE)`)
  expect(codes).toEqual(Object.fromEntries(Object.keys(calls).map((call) => [call, 'schema_outdated'])))
})

it('[G11, O2] a server without the roles counts as not migrated, too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sagapost-embedding-'))
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') })
  try {
    const instance = embed({ databaseUrl: server.url })
    await expect(instance.start()).rejects.toMatchObject({ code: 'schema_outdated' })
    await instance.stop()
    const migrated = embed({ databaseUrl: server.url, migrate: true })
    await migrated.start()
    await migrated.stop()
  } finally {
    await server.stop()
    await rm(folder, { recursive: true })
  }
})
