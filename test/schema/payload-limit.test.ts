import { afterEach, describe, expect, it } from 'vitest'
import { defaultEventLimits, PAYLOAD_BYTES_READ_MAX } from '../../src/model/index.js'
import { useDatabase } from '../support/database.js'
import { codeOf, outcomeOf } from '../support/refusal.js'

const database = useDatabase()
const MIB = 1024 * 1024

/** A JSON text of the given size in bytes: two are its quotation marks. */
const jsonOf = (bytes: number) => `to_json(repeat('x', ${bytes} - 2))`
const asIngest = (sql: string) => database.as('event_ingest_writer').query(sql)

const doors: [string, (bytes: number) => string][] = [
  ['publish of json', (bytes) => `SELECT sagapost.publish('size', ${jsonOf(bytes)})`],
  ['publish of jsonb', (bytes) => `SELECT sagapost.publish('size', ${jsonOf(bytes)}::jsonb)`],
  ['publish of text', (bytes) => `SELECT sagapost.publish('size', ${jsonOf(bytes)}::text)`],
  [
    'publish with a key',
    (bytes) => `SELECT sagapost.publish('size', ${jsonOf(bytes)}, gen_random_uuid()::text)`,
  ],
  [
    'publish_batch',
    (bytes) =>
      `SELECT * FROM sagapost.publish_batch(ARRAY['size'], ARRAY[${jsonOf(bytes)}], ARRAY[NULL], ARRAY[NULL], ARRAY[NULL])`,
  ],
  [
    'a plain INSERT',
    (bytes) => `INSERT INTO sagapost.events (event_type, payload) VALUES ('size', ${jsonOf(bytes)})`,
  ],
]

afterEach(() => database.pool.query('SELECT sagapost.limit_payloads($1)', [MIB]))

describe('the limit of payloads', () => {
  it('[E1] is the HTTP API’s limit unless it is raised', async () => {
    const { rows } = await database.pool.query('SELECT sagapost.payload_bytes_max() AS bytes')
    expect(rows[0].bytes).toBe(defaultEventLimits.payloadBytesMax)
  })

  it.each(doors)('[E1] holds for %s: that many bytes are stored, one more is refused', async (_door, sql) => {
    expect(await codeOf(asIngest(sql(MIB)))).toBe('accepted')
    expect(await outcomeOf(asIngest(sql(MIB + 1)))).toEqual({
      code: 'payload_too_large',
      sqlState: '23514',
      constraint: 'events_payload_size',
    })
  })

  it('[E1] holds for a payload that comes compressed from another table', async () => {
    await database.pool.query('CREATE TABLE public.outbox (payload json)')
    await database.pool.query(`INSERT INTO public.outbox SELECT ${jsonOf(MIB + 1)}`)
    const { rows } = await database.pool.query('SELECT pg_column_size(payload) AS bytes FROM public.outbox')
    expect(rows[0].bytes).toBeLessThan(MIB / 50)
    const copied = database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload) SELECT 'size', payload FROM public.outbox`,
    )
    expect(await codeOf(copied)).toBe('payload_too_large')
  })

  it('[E1] counts bytes, not characters', async () => {
    const sql = `INSERT INTO sagapost.events (event_type, payload) VALUES ('size', to_json(repeat('é', ${MIB / 2})))`
    expect(await codeOf(asIngest(sql))).toBe('payload_too_large')
  })

  it('[E1] reports in `publish` how large the payload is and what the limit is', async () => {
    await expect(asIngest(`SELECT sagapost.publish('size', ${jsonOf(MIB + 5)})`)).rejects.toThrow(
      'the payload has 1048581 bytes; at most 1048576 are taken',
    )
  })

  it('[E1] is raised by the owner, at once for connections that have published before, up to what the parts read', async () => {
    const client = await database.as('event_ingest_writer').connect()
    const publishLarge = () => codeOf(client.query(`SELECT sagapost.publish('size', ${jsonOf(2 * MIB)})`))
    const insertLarge = () =>
      codeOf(
        client.query(`INSERT INTO sagapost.events (event_type, payload) VALUES ('size', ${jsonOf(2 * MIB)})`),
      )
    for (let n = 0; n < 7; n++) expect(await publishLarge()).toBe('payload_too_large')
    expect(await insertLarge()).toBe('payload_too_large')
    await database.pool.query('SELECT sagapost.limit_payloads($1)', [2 * MIB])
    expect(await publishLarge()).toBe('accepted')
    expect(await insertLarge()).toBe('accepted')
    client.release()
    await database.pool.query('SELECT sagapost.limit_payloads($1)', [PAYLOAD_BYTES_READ_MAX])
    const tooMuch = database.pool.query('SELECT sagapost.limit_payloads($1)', [PAYLOAD_BYTES_READ_MAX + 1])
    await expect(tooMuch).rejects.toThrow('1048576 (1 MiB) to 16777216 bytes (16 MiB)')
  })

  it('[O2] cannot be raised by a publisher', async () => {
    for (const role of ['event_ingest_writer', 'event_publisher', 'saga_app_role'] as const) {
      const client = await database.pool.connect()
      await client.query('BEGIN')
      await client.query(`SET LOCAL ROLE ${role}`)
      expect(await codeOf(client.query('SELECT sagapost.limit_payloads($1)', [MIB]))).toBe(
        'permission_denied',
      )
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[E1] holds in partitions that are created later', async () => {
    const { rows } = await database.pool.query(
      `SELECT max(to_id) AS id FROM sagapost.partitions WHERE table_name = 'events'`,
    )
    const id = BigInt(rows[0].id)
    await database.pool.query(`SELECT sagapost.make_partition('events', $1, $2)`, [id, id + 10n])
    const insert = database.pool.query(
      `INSERT INTO sagapost.events (id, event_type, payload) VALUES ($1, 'size', ${jsonOf(MIB + 1)})`,
      [id],
    )
    expect(await codeOf(insert)).toBe('payload_too_large')
  })
})
