import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDataDir } from '../../../src/database/embedded/open-data-dir.js'
import { startEmbeddedPostgres } from '../../../src/database/index.js'
import { SagapostError } from '../../../src/errors/index.js'
import { copyNative, findServers, makeFolder, quick, useDataDir } from './make-folder.js'
import { query } from './query-server.js'
import { startServer } from './start-server.js'

const usedDataDir = useDataDir()

async function refusal(options: Parameters<typeof startEmbeddedPostgres>[0]): Promise<SagapostError> {
  try {
    const server = await startEmbeddedPostgres(options)
    await server.stop()
  } catch (error) {
    expect(error).toBeInstanceOf(SagapostError)
    expect((error as SagapostError).message).not.toContain('\n')
    expect(findServers(options.dataDir)).toEqual([])
    return error as SagapostError
  }
  throw new Error('it started')
}

function isReleased(dataDir: string): boolean {
  const owners = readdirSync(dataDir).filter((name) => name.startsWith('owner.'))
  return owners.length === 1 && JSON.parse(readFileSync(join(dataDir, owners[0] as string), 'utf8')).released
}

it('[O2] refuses a file', async () => {
  const dataDir = join(makeFolder(), 'data')
  writeFileSync(dataDir, 'text')
  const error = await refusal({ dataDir })
  expect(error.code).toBe('data_dir_unusable')
  expect(error.message).toContain(`The data directory ${dataDir} cannot be used: EEXIST`)
})

it('[O2] refuses a folder with something else in it, and does not write to it', async () => {
  const dataDir = join(makeFolder(), 'data')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'thesis.txt'), 'text')
  const error = await refusal({ dataDir })
  expect(error.code).toBe('data_dir_not_ours')
  expect(error.message).toContain('holds thesis.txt')
  expect(readdirSync(dataDir)).toEqual(['thesis.txt'])
})

it('[O2] refuses a marker that it did not write', async () => {
  const dataDir = join(makeFolder(), 'data')
  mkdirSync(dataDir)
  for (const text of ['', 'null', '{"format":"one"}']) {
    writeFileSync(join(dataDir, 'sagapost.json'), text)
    expect((await refusal({ dataDir })).code).toBe('data_dir_not_ours')
  }
})

it('[O2] refuses a directory of a newer Sagapost', async () => {
  const dataDir = join(makeFolder(), 'data')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'sagapost.json'), '{"format":2}')
  const error = await refusal({ dataDir })
  expect(error.code).toBe('data_dir_newer')
  expect(error.message).toContain('format 2, this one knows 1')
  expect(readdirSync(dataDir)).toEqual(['sagapost.json'])
})

it('[O2] accepts the root of a volume as an empty folder, and the leftovers of a start that was killed early', async () => {
  const dataDir = join(makeFolder(), 'data')
  mkdirSync(join(dataDir, 'lost+found'), { recursive: true })
  for (const name of ['owner.1.json', `owner.${randomUUID()}.new.json`, 'sagapost.json.new']) {
    writeFileSync(join(dataDir, name), '')
    await expect(openDataDir(dataDir)).resolves.toBeUndefined()
  }
})

it('[O2] refuses data of a newer and of an older PostgreSQL, and says what to do', async () => {
  const dataDir = await usedDataDir()
  const file = join(dataDir, 'postgres', 'PG_VERSION')
  onTestFinished(() => writeFileSync(file, '18\n'))
  writeFileSync(file, '99\n')
  const newer = await refusal({ dataDir })
  expect(newer.code).toBe('data_dir_newer')
  expect(newer.message).toContain('belong to PostgreSQL 99, this Sagapost brings 18; use the newer release')
  writeFileSync(file, '17\n')
  const older = await refusal({ dataDir })
  expect(older.code).toBe('data_dir_older_postgres')
  expect(older.message).toContain('dump them with the earlier release')
  expect(isReleased(dataDir)).toBe(true)
})

it('[O2] reports why the server does not start, leaves nothing running and starts once the mistake is corrected', async () => {
  const dataDir = await usedDataDir()
  const unknown = await refusal({ dataDir, settings: { ...quick, no_such_setting: '1' } })
  expect(unknown.code).toBe('embedded_postgres_failed')
  expect(unknown.message).toContain(
    'did not start: unrecognized configuration parameter "no_such_setting" (more in',
  )
  const bad = await refusal({ dataDir, settings: { ...quick, shared_buffers: 'much' } })
  expect(bad.message).toContain('invalid value for parameter "shared_buffers": "much"')
  expect(isReleased(dataDir)).toBe(true)
  const server = await startServer({ dataDir, settings: quick })
  expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

it('[O2] reports why initdb failed and leaves nothing of it', async () => {
  const folder = makeFolder()
  chmodSync(folder, 0o755)
  const nativeDir = copyNative(folder)
  writeFileSync(
    join(nativeDir, 'bin', 'initdb'),
    '#!/bin/sh\necho "initdb: error: no more ink" >&2\nexit 1\n',
  )
  const dataDir = join(folder, 'data')
  const error = await refusal({ dataDir, nativeDir, settings: quick })
  expect(error.code).toBe('embedded_postgres_failed')
  expect(error.message).toBe(`The embedded PostgreSQL could not be set up in ${dataDir}: no more ink`)
  expect(readdirSync(dataDir).sort()).toEqual(['owner.1.json', 'sagapost.json'])
  expect(isReleased(dataDir)).toBe(true)
  expect(existsSync(join(dataDir, 'password'))).toBe(false)
})
