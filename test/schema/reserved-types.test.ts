import { describe, expect, it } from 'vitest'
import { isReservedType } from '../../src/model/event-type.js'
import { useDatabase } from '../support/database.js'
import { codeOf } from '../support/refusal.js'

const database = useDatabase()
const reserved = ['saga.completed', 'saga.x', 'sagapost.x', 'saga.', 'sagapost.']
const free = ['saga', 'sagas.x', 'sagapost', 'sagaposts.x', 'order.saga.completed', 'Saga.completed']

const asWriter = (text: string, values: unknown[]) =>
  codeOf(database.as('event_ingest_writer').query(text, values))

const batch = `SELECT * FROM sagapost.publish_batch($1::text[], '{"{}"}'::json[], ARRAY[NULL]::text[], ARRAY[NULL]::text[],
  ARRAY[NULL]::text[])`
/** Each way in which a publisher's type reaches the table. */
const ways: [string, (type: string) => Promise<string>][] = [
  [
    'a plain INSERT',
    (type) => asWriter(`INSERT INTO sagapost.events (event_type, payload) VALUES ($1, '1')`, [type]),
  ],
  ['sagapost.publish of json', (type) => asWriter(`SELECT sagapost.publish($1, '1'::json)`, [type])],
  ['sagapost.publish of jsonb', (type) => asWriter(`SELECT sagapost.publish($1, '1'::jsonb)`, [type])],
  [
    'sagapost.publish of text',
    (type) => asWriter(`SELECT sagapost.publish($1, '1'::text, 'key of ' || $1)`, [type]),
  ],
  ['sagapost.publish_batch', (type) => asWriter(batch, [[type]])],
]

describe('types reserved by Sagapost', () => {
  it.each(ways)('[E4] are refused from %s, and similar ones are not', async (_way, publish) => {
    for (const type of reserved) {
      expect([type, await publish(type)]).toEqual([type, 'event_type_reserved'])
    }
    for (const type of free) expect([type, await publish(type)]).toEqual([type, 'accepted'])
    expect([...reserved.map(isReservedType), ...free.map(isReservedType)]).toEqual([
      ...reserved.map(() => true),
      ...free.map(() => false),
    ])
  })

  it('[E4] are refused whatever the publisher sets before', async () => {
    const client = await database.as('event_ingest_writer').connect()
    try {
      await client.query('SET search_path = sagapost, pg_catalog')
      const publish = client.query(`SELECT publish('saga.completed', '1'::json)`)
      expect(await codeOf(publish)).toBe('event_type_reserved')
    } finally {
      client.release(true)
    }
  })

  it('[E4] are refused of a step that delivers an event', async () => {
    const entry = {
      saga_id: 'none',
      step_index: 0,
      type: 'saga.completed',
      payload: '1',
      span_id: '0'.repeat(16),
    }
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(
        `INSERT INTO sagapost.saga_instances (id, definition_id, name, state, current_step, total_steps, trace_id)
         VALUES ('none', 'd', 'd', 0, 0, 1, repeat('a', 32))`,
      )
      const publish = client.query('SELECT sagapost.publish_awaited_events($1)', [JSON.stringify([entry])])
      expect(await codeOf(publish)).toBe('event_type_reserved')
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[E4] are stored for the owner: by the functions of sagas, and when data is restored', async () => {
    const insert = `INSERT INTO sagapost.events (event_type, payload) VALUES ('saga.completed', '1') RETURNING id`
    expect((await database.pool.query(insert)).rows).toHaveLength(1)
  })
})
