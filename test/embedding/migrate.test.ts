import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startEmbeddedPostgres } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { useInstances } from './use-instances.js'

const database = useDatabase({ migrated: false })
const { embed } = useInstances()

it('[G11, O2] a schema that is not migrated is told; migrate() or migrate: true brings it up', async () => {
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

it('[G11, O2] a server without the roles is one that is not migrated, too', async () => {
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
