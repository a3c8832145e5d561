import type pg from 'pg'
import { createKey, type Scope } from '../../src/api-keys/index.js'
import { createBacklogCollector, createMetrics } from '../../src/observability/index.js'
import type { TestDatabase } from '../support/database.js'
import { insertDelivery, insertJob } from '../support/fixtures.js'
import { type Receiver, startReceiver } from '../support/https-receiver.js'
import { insertSaga, insertStuckSaga } from '../support/sagas.js'
import { type Answer, type CallOptions, call, startTestApi } from './api-server.js'

/** A server, and how to bring it into the states that the calls' answers depend on. */
export interface World {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  keyOf(scope: Scope): Promise<string>
  /** The id of a subscription, new for each case. */
  subscription(fields?: object): Promise<string>
  deletedSubscription(): Promise<string>
  /** One whose secret was damaged in the database. */
  unreadableSubscription(): Promise<string>
  damageSecrets(subscriptionId: string): Promise<unknown>
  /** With an attempt on record; the id is the delivery's. */
  delivery(): Promise<{ id: string; eventId: string; subscriptionId: string }>
  deadLetter(options?: { active: boolean }): Promise<string>
  /** Pending, and no coordinator runs it. */
  saga(): Promise<string>
  /** One that waits for an operator. */
  stuckSaga(): Promise<string>
  /** What the callback answers with: the challenge, or nothing of use. */
  receiver: Receiver & { isWilling: boolean }
  pool: pg.Pool
  /** While another transaction holds the key. */
  whileKeyIsHeld<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  stop(): Promise<void>
}

export async function makeWorld(database: TestDatabase): Promise<World> {
  const willing = { isWilling: true }
  const receiver: World['receiver'] = Object.assign(
    await startReceiver({
      respond: ({ body }) =>
        receiver.isWilling
          ? { body: JSON.stringify({ challenge: JSON.parse(body.toString()).challenge ?? '' }) }
          : { status: 500, body: 'no' },
    }),
    willing,
  )
  const server = await startTestApi(database.url, {
    metrics: createMetrics({ backlog: createBacklogCollector(database.as('saga_readonly_role')) }),
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  const { pool } = database
  const world: World = {
    pool,
    receiver,
    call: (method, path, options) => call(server.url + path, method, options),

    async keyOf(scope) {
      return (await createKey(database.as('api_key_admin'), { name: scope, scope })).key
    },

    async subscription(fields = {}) {
      const body = { eventType: 'contract', callbackUrl: receiver.url, ...fields }
      return (await world.call('POST', '/v1/subscriptions', { body })).body.id
    },

    async deletedSubscription() {
      const id = await world.subscription()
      await world.call('DELETE', `/v1/subscriptions/${id}`)
      return id
    },

    async unreadableSubscription() {
      const id = await world.subscription()
      await world.damageSecrets(id)
      return id
    },

    damageSecrets: (id) =>
      pool.query(
        `UPDATE sagapost.subscription_secrets SET ciphertext = decode(repeat('00', 80), 'hex') WHERE subscription_id = $1`,
        [id],
      ),

    async delivery() {
      const delivery = await insertDelivery(pool, 'InProgress')
      await insertJob(pool, delivery, 'Failed')
      return delivery
    },

    async deadLetter({ active } = { active: true }) {
      const { id, subscriptionId } = await insertDelivery(pool, 'DeadLettered')
      await pool.query('UPDATE sagapost.subscriptions SET active = $2 WHERE id = $1', [
        subscriptionId,
        active,
      ])
      const { rows } = await pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [id])
      return rows[0].id
    },

    saga: () => insertSaga(database.as('saga_app_role')),
    stuckSaga: () => insertStuckSaga(database.as('saga_app_role')),

    async whileKeyIsHeld(key, work) {
      const holder = await pool.connect()
      try {
        await holder.query('BEGIN')
        await holder.query(`SELECT sagapost.publish('held', '1'::json, $1), sagapost.signal('held', $1)`, [
          key,
        ])
        return await work()
      } finally {
        await holder.query('ROLLBACK')
        holder.release()
      }
    },

    async stop() {
      await server.stop()
      await receiver.stop()
    },
  }
  return world
}
