import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SagapostError } from '../../errors/index.js'
import { isRunning, readStartMark } from './identify-process.js'
import { readPostmasterFile } from './read-postmaster-file.js'

interface Owner {
  pid: number
  startMark: string | undefined
  startedAt: string
  released: boolean
}

/** Files that a data directory may contain before it has its marker: see `openDataDir`. */
export const ownerFilePattern = /^owner\.(\d+|[0-9a-f-]{36}\.new)\.json$/
const attemptsMax = 100

/**
 * Makes this process the only one that uses the data directory, or throws `data_dir_in_use`. The newest owner file is never
 * removed, not even on release; the numbers only grow: docs/internals/embedded-postgres.md#one-owner.
 */
export async function takeOwnership(dataDir: string): Promise<{ release(): Promise<void> }> {
  const me: Owner = {
    pid: process.pid,
    startMark: readStartMark(process.pid),
    startedAt: new Date().toISOString(),
    released: false,
  }
  const fileOf = (generation: number) => join(dataDir, `owner.${generation}.json`)
  const scratch = join(dataDir, `owner.${randomUUID()}.new.json`)
  await writeFile(scratch, JSON.stringify(me), { mode: 0o644 })
  try {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const newest = (await listGenerations(dataDir)).at(-1) ?? 0
      const owner = newest === 0 ? undefined : await readOwner(fileOf(newest))
      if (owner === 'vanished') continue
      if (owner && !owner.released && isRunning(owner.pid, owner.startMark)) throw await inUse(dataDir, owner)
      if (!(await linkIfAbsent(scratch, fileOf(newest + 1)))) continue
      const generations = await listGenerations(dataDir)
      if (generations.at(-1) !== newest + 1) {
        // This process was so slow that others took and released the directory meanwhile; its number is outdated.
        await rm(fileOf(newest + 1), { force: true })
        continue
      }
      for (const past of generations.slice(0, -1)) await rm(fileOf(past), { force: true })
      return { release: () => releaseOwner(dataDir, fileOf(newest + 1), me) }
    }
  } finally {
    await rm(scratch, { force: true })
  }
  throw new SagapostError(
    'data_dir_in_use',
    `The data directory ${dataDir} is being fought over by other processes`,
  )
}

async function listGenerations(dataDir: string): Promise<number[]> {
  const names = await readdir(dataDir)
  const numbers = names.map((name) => Number(/^owner\.(\d+)\.json$/.exec(name)?.[1] ?? 0))
  return numbers.filter((number) => number > 0).sort((a, b) => a - b)
}

async function readOwner(file: string): Promise<Owner | 'vanished' | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return 'vanished'
  try {
    return JSON.parse(text) as Owner
  } catch {
    // Only a power cut leaves an incomplete file, since a file gets its name when it is complete: it has no owner.
    return undefined
  }
}

async function linkIfAbsent(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function releaseOwner(dataDir: string, file: string, owner: Owner): Promise<void> {
  const scratch = join(dataDir, `owner.${randomUUID()}.new.json`)
  try {
    await writeFile(scratch, JSON.stringify({ ...owner, released: true }), { mode: 0o644 })
    await rename(scratch, file)
  } catch {
    // The disk is full or the directory deleted: the directory is released when this process exits.
  }
}

async function inUse(dataDir: string, owner: Owner): Promise<SagapostError> {
  const server = await readPostmasterFile(join(dataDir, 'postgres')).catch(() => undefined)
  const where = server?.port ? `, its PostgreSQL on 127.0.0.1:${server.port}` : ''
  return new SagapostError(
    'data_dir_in_use',
    `The data directory ${dataDir} is in use by process ${owner.pid}, started at ${owner.startedAt}${where}`,
  )
}
