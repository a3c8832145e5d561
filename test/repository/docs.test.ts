import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { describeCommands } from '../../scripts/describe-commands.js'
import { buildProgram } from '../../src/cli/run.js'
import { deliveryMachine, isFinal, jobMachine } from '../../src/model/index.js'
import type { StateMachine } from '../../src/model/state-machine.js'
import { useDatabase } from '../support/database.js'

const docs = new URL('../../docs/', import.meta.url)
const blocksOf = (page: string, language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block]) => block ?? '')

function draw<Status extends string>(machine: StateMachine<Status>): string {
  return [
    'stateDiagram-v2',
    `  [*] --> ${machine.initial}`,
    ...machine.moves.map(({ from, to, when }) => `  ${from} --> ${to}: ${when}`),
    ...machine.statuses.filter((status) => isFinal(machine, status)).map((status) => `  ${status} --> [*]`),
    '',
  ].join('\n')
}

it('[S5, J12] the drawings in docs/concepts/state-machines.md are the machines in src', async () => {
  const page = await readFile(new URL('concepts/state-machines.md', docs), 'utf8')
  expect(blocksOf(page, 'mermaid')).toEqual([draw(deliveryMachine), draw(jobMachine)])
})

it('[O1] docs/reference/command-line.md has the commands of the program (npm run docs:commands writes them)', async () => {
  const page = await readFile(new URL('reference/command-line.md', docs), 'utf8')
  const [, commands] = page.split(/^## Commands\n\n/m)
  expect(commands).toBe(describeCommands(buildProgram(process)))
})

describe('SQL samples', () => {
  const database = useDatabase()

  it('[E3, R1] of the guide to publishing run unchanged, as the application, and are routed', async () => {
    const page = await readFile(new URL('guides/publish-from-sql.md', docs), 'utf8')
    const [grant = '', ...samples] = blocksOf(page, 'sql')
    await database.pool.query('DROP ROLE IF EXISTS my_app')
    await database.pool.query(`CREATE ROLE my_app LOGIN PASSWORD 'test'`)
    const url = new URL(database.url)
    url.username = 'my_app'
    url.password = 'test'
    const app = new pg.Client({ connectionString: url.href })
    try {
      await database.pool.query(grant)
      await app.connect()
      const plainInsert = samples.pop() ?? ''
      for (const sample of samples) await app.query(sample)
      await expect(app.query(plainInsert)).rejects.toThrow('permission denied')
      await database.as('event_ingest_writer').query(plainInsert)
    } finally {
      await app.end()
      await database.pool.query('DROP ROLE my_app')
    }
    const { rows } = await database.pool.query(
      'SELECT event_type, correlation_id FROM sagapost.unrouted_events ORDER BY event_id',
    )
    expect(rows).toEqual([
      { event_type: 'order.placed', correlation_id: null },
      { event_type: 'order.shipped', correlation_id: null },
      { event_type: 'order.paid', correlation_id: 'checkout-4711' },
      { event_type: 'order.cancelled', correlation_id: null },
    ])
  })

  it('[O7] of the page on partitions run unchanged', async () => {
    const page = await readFile(new URL('operating/partitions.md', docs), 'utf8')
    const samples = blocksOf(page, 'sql').flatMap((block) => block.split(/;[^\n]*\n/))
    for (const sample of samples.filter((text) => /^\w/.test(text))) await database.pool.query(sample)
    const { rows } = await database.pool.query(
      `SELECT to_regclass('sagapost.events_from_0') AS dropped, events_per_partition FROM sagapost.partition_settings`,
    )
    expect(rows).toEqual([{ dropped: null, events_per_partition: '5000000' }])
  })

  it('[O1] of the README publish an event', async () => {
    const page = await readFile(new URL('../README.md', docs), 'utf8')
    await database.pool.query(`SELECT setval('sagapost.events_id_seq', 1500000)`)
    for (const sample of blocksOf(page, 'sql')) await database.pool.query(sample)
    const { rows } = await database.pool.query(`SELECT FROM sagapost.event_keys WHERE key = 'order-7-placed'`)
    expect(rows).toHaveLength(1)
  })
})
