import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { formatCatalogue, readCatalogue } from '../../scripts/catalogue.js'
import { connect } from '../../src/database/index.js'
import { compareSchema, type Difference } from '../../src/doctor/index.js'
import { compareWithin } from '../../src/doctor/schema/compare-schema.js'
import { catalogueFile } from '../../src/doctor/schema/release-catalogue.js'
import { useDatabase } from '../support/database.js'
import { roleBreaks, type SchemaBreak, schemaBreaks } from './schema-breaks.js'

const database = useDatabase()
const compare = () => compareSchema(database.as('saga_readonly_role'))

/** One statement a time, each in a transaction of its own, as psql does. */
async function run(statements: readonly string[]) {
  for (const statement of statements) await database.pool.query(statement)
}

it('[G11] the catalogue of the release is that of its migrations (npm run schema:dump writes it)', async ({
  skip,
}) => {
  if (database.serverMajor < 18) skip('views read differently before PostgreSQL 18')
  const client = await connect(database.url)
  try {
    expect(formatCatalogue(await readCatalogue(client))).toBe(await readFile(catalogueFile, 'utf8'))
  } finally {
    await client.end()
  }
})

it('[G11] a freshly migrated schema has no differences', async () => {
  expect(await compare()).toEqual([])
})

const find = (found: readonly Difference[], { code, object }: SchemaBreak) =>
  found.find(
    (each) =>
      each.code === code && (object instanceof RegExp ? object.test(each.object) : each.object === object),
  )

describe('a schema of which', () => {
  it.each(schemaBreaks)('[G11] $by is named, and its statements repair it', async (broken) => {
    const { sql, mendedBy } = broken
    await database.pool.query(sql)
    const found = await compare()
    const difference = find(found, broken)
    expect(difference, JSON.stringify(found)).toBeDefined()
    if (mendedBy !== undefined) {
      expect(difference?.mend).toEqual([])
      await database.pool.query(mendedBy)
    }
    await run((await compare()).flatMap(({ mend }) => mend))
    expect(await compare()).toEqual([])
  })

  it.each(roleBreaks)('[G11] $by is named', async (broken) => {
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(broken.sql)
      const found = await compareWithin(client)
      expect(find(found, broken), JSON.stringify(found)).toBeDefined()
      for (const { mend } of found) for (const statement of mend) await client.query(statement)
      expect(await compareWithin(client)).toEqual([])
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })
})

it('[G11] each object that does not belong to the owner of the schema is named with both owners', async () => {
  const client = await database.pool.connect()
  try {
    await client.query(`
      BEGIN;
      CREATE ROLE "Another owner";
      ALTER FUNCTION sagapost.check_made_jobs() OWNER TO "Another owner";
      ALTER TABLE sagapost.saga_instances OWNER TO "Another owner";
      ALTER TABLE sagapost.events_from_0 OWNER TO "Another owner"`)
    const { rows } = await client.query('SELECT quote_ident(current_user) AS owner')
    const detail = `belongs to "Another owner" instead of ${rows[0].owner}`
    const difference = (what: string) => ({
      code: 'object_altered',
      severity: 'failing',
      object: what,
      detail,
      mend: [`ALTER ${what.replace(/^\w+/, (kind) => kind.toUpperCase())} OWNER TO ${rows[0].owner}`],
    })
    const found = await compareWithin(client)
    expect(found).toHaveLength(3)
    expect(found).toEqual(
      expect.arrayContaining(
        [
          'function sagapost.check_made_jobs()',
          'table sagapost.saga_instances',
          'table sagapost.events_from_0',
        ].map(difference),
      ),
    )
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
})

it('[G11, G15] saga_events that an operator has partitioned have no differences, and their breaks are named', async () => {
  await database.pool.query('SELECT sagapost.partition_saga_events()')
  expect(await compare()).toEqual([])
  await database.pool.query(`
    DROP TRIGGER saga_events_truncate_is_refused ON sagapost.saga_events_before;
    DROP INDEX sagapost.idx_event_trace_id`)
  const found = await compare()
  expect(found.map(({ code }) => code)).toEqual(['index_missing', 'partition_unguarded'])
  await run(found.flatMap(({ mend }) => mend))
  expect(await compare()).toEqual([])
})
