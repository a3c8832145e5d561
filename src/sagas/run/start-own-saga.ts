import type pg from 'pg'
import { openBox } from '../data-box.js'
import { newRecord } from '../decide/index.js'
import type { SagaDefinition } from '../definition.js'
import { decodeJson } from '../json.js'
import { toStartParameter } from '../storage/index.js'
import { type StartOptions, startSaga } from './start-saga.js'

interface StartedRow<Answer> {
  saga_id: string
  created: boolean
  moment: Date
  input: string
  answer: Answer
}

export interface OwnStart<Answer> {
  sagaId: string
  /** False when the key was used before; this is then the first saga. */
  created: boolean
  /** The function's own result. */
  answer: Answer
}

/**
 * Starts one of Sagapost's own sagas by a function of the schema, which starts the saga and does its part of the work
 * in the same transaction. So a role that may not write sagas can start these, and only these. Their input is not
 * secret, and is not sealed.
 */
export async function startOwnSaga<Answer>(
  client: Pick<pg.ClientBase, 'query'>,
  statement: { readonly sql: string; readonly values?: readonly unknown[] },
  definition: SagaDefinition,
  input: unknown,
  options: StartOptions = {},
): Promise<OwnStart<Answer>> {
  let started: OwnStart<Answer> | undefined
  const storage: Parameters<typeof startSaga>[0] = {
    async startSaga(saga) {
      const given = JSON.stringify(toStartParameter(saga, openBox))
      const { rows } = (await client.query(statement.sql, [
        given,
        ...(statement.values ?? []),
      ])) as pg.QueryResult<StartedRow<Answer>>
      const [row] = rows
      if (row === undefined) throw new Error(`${definition.name} was not started`)
      started = { sagaId: row.saga_id, created: row.created, answer: row.answer }
      const record = newRecord(saga, row.moment)
      return {
        created: row.created,
        saga: { ...record, id: row.saga_id, input: decodeJson(row.input) },
      }
    },
  }
  await startSaga(storage, definition, input, options)
  return started as OwnStart<Answer>
}
