import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import { type SystemPart, startSystem, systemParts } from '../../src/runtime/index.js'
import { adminKey, silent } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const { Pool } = pg
let opened: pg.Pool[] = []

/** PostgreSQL cannot say how many connections a pool may still open: the pools are noted as they are made. */
beforeAll(() => {
  Object.assign(pg, {
    Pool: class extends Pool {
      constructor(options: pg.PoolConfig) {
        super(options)
        opened.push(this)
      }
    },
  })
})
afterAll(() => {
  Object.assign(pg, { Pool })
})

const page = await readFile(new URL('../../docs/operating/database.md', import.meta.url), 'utf8')
const [, table = ''] = /^## Connections\n.*?\n\n(\|.*?)\n\n/ms.exec(page) ?? []

/** Of the row that begins like this: the role, and how many connections. */
function documented(row: string): Record<string, number> {
  const [, cell = ''] =
    table
      .split('\n')
      .find((line) => line.startsWith(`| ${row} |`))
      ?.split(' | ') ?? []
  return Object.fromEntries(
    [...cell.matchAll(/(\d+) `(\w+)`/g)].map(([, count, role]) => [role as string, Number(count)]),
  )
}

function add(...rows: readonly Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const row of rows) {
    for (const [role, count] of Object.entries(row)) sum[role] = (sum[role] ?? 0) + count
  }
  return sum
}

async function connectionsOf(only: readonly SystemPart[], env: Record<string, string> = {}) {
  opened = []
  const settings = { SAGAPOST_API_KEY: adminKey, SAGAPOST_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
  const system = await startSystem({
    databaseUrl: database.url,
    config: readConfig({ ...settings, ...env }),
    only,
    log: silent(),
  })
  try {
    const pools = opened.filter((pool) => !pool.ended && !pool.ending)
    return add(...pools.map((pool) => ({ [roleOf(pool)]: pool.options.max })))
  } finally {
    await system.stop()
  }
}

function roleOf({ options: { connectionString = '' } }: pg.Pool): string {
  const url = new URL(connectionString)
  const [, role = 'none'] = /role=(\w+)/.exec(url.searchParams.get('options') ?? '') ?? []
  expect(url.searchParams.get('application_name')).toBe(`sagapost ${role}`)
  return role
}

describe('the connections of a process', () => {
  it.each<{ only: readonly SystemPart[]; rows: readonly string[]; env?: Record<string, string> }>([
    { only: ['api'], rows: ['`api`'], env: { PORT: '0' } },
    { only: ['router'], rows: ['`router`'] },
    { only: ['orchestrator'], rows: ['`orchestrator`'] },
    { only: ['worker'], rows: ['`worker`, `cleaner` or both'] },
    { only: ['cleaner'], rows: ['`worker`, `cleaner` or both'] },
    { only: ['sagas'], rows: ['`sagas`'] },
    { only: ['router'], rows: ['`router`', 'without `api`, with `PORT` set'], env: { PORT: '0' } },
  ])(
    '[O2] run under the roles of its parts alone, as many as the page says: $only',
    async ({ only, rows, env }) => {
      expect(await connectionsOf(only, env)).toEqual(add(...['every process', ...rows].map(documented)))
    },
  )

  it('[O2] are 57 with all parts, LISTEN included', async () => {
    const found = await connectionsOf(systemParts, { PORT: '0' })
    expect(found).toEqual(
      add(
        ...[
          'every process',
          '`api`',
          '`router`',
          '`orchestrator`',
          '`worker`, `cleaner` or both',
          '`sagas`',
        ].map(documented),
      ),
    )
    const LISTEN = 1
    const sum = Object.values(found).reduce((one, other) => one + other, LISTEN)
    expect(page).toContain(`A process with all parts has ${sum}.`)
    expect(page).toContain(`3 × ${sum} + 5`)
    expect(page).toContain(`ALTER ROLE sagapost_login CONNECTION LIMIT ${3 * sum + 5};`)
  })
})
