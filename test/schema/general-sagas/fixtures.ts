import { randomUUID } from 'node:crypto'
import type pg from 'pg'

type Queryable = pg.Pool | pg.PoolClient
type Row = Record<string, unknown>

/** Objects go in as JSON text: the driver would turn an array into an array of PostgreSQL. */
function asParameter(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !(value instanceof Date)
    ? JSON.stringify(value)
    : value
}

async function insert(client: Queryable, table: string, row: Row): Promise<string> {
  const columns = Object.keys(row).map((column) => `"${column}"`)
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO sagapost.${table} (${columns}) VALUES (${columns.map((_, i) => `$${i + 1}`)}) RETURNING id`,
    Object.values(row).map(asParameter),
  )
  return rows[0]?.id ?? ''
}

/** A Pending saga without steps, unless told otherwise. */
export function insertSaga(client: Queryable, row: Row = {}): Promise<string> {
  return insert(client, 'saga_instances', {
    id: randomUUID(),
    definition_id: 'checkout',
    state: 0,
    current_step: 0,
    total_steps: 0,
    ...row,
  })
}

/** A Pending first step, unless told otherwise. */
export function insertStep(client: Queryable, sagaId: string, row: Row = {}): Promise<string> {
  return insert(client, 'saga_steps', {
    id: randomUUID(),
    saga_id: sagaId,
    step_index: 0,
    name: 'reserve',
    state: 0,
    attempts: 0,
    max_attempts: 3,
    ...row,
  })
}

export function insertSagaEvent(client: Queryable, sagaId: string, row: Row = {}): Promise<string> {
  return insert(client, 'saga_events', { saga_id: sagaId, event_type: 'saga.started', ...row })
}

export async function countRows(client: Queryable, table: string, sagaId: string): Promise<number> {
  const { rows } = await client.query(
    `SELECT count(*)::int AS count FROM sagapost.${table} WHERE saga_id = $1`,
    [sagaId],
  )
  return rows[0].count
}

/** Runs the work in a transaction that is rolled back. */
export async function inRolledBackTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    return await work(client)
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

/** Lets the file's database take rows in any state, as these tests need them; the guards have a test of their own. */
export async function allowAnyBeginning(client: Queryable): Promise<void> {
  await client.query(`
    ALTER TABLE sagapost.saga_instances DISABLE TRIGGER saga_instance_begins_pending;
    ALTER TABLE sagapost.saga_steps DISABLE TRIGGER saga_step_begins_pending`)
}
