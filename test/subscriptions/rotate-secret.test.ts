import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { defineSecretRotation } from '../../src/built-in-sagas/define-secret-rotation.js'
import { removeEndedSecrets } from '../../src/built-in-sagas/remove-ended-secrets.js'
import { createCoordinator, createPostgresStorage } from '../../src/sagas/index.js'
import {
  createSecretBox,
  deleteSubscription,
  readSigningSecrets,
  rotateSecret,
} from '../../src/subscriptions/index.js'
import { formatSecret, publicKeyOf } from '../../src/webhook/index.js'
import { installClock, moveClock } from '../support/clock.js'
import { useDatabase } from '../support/database.js'
import { codeOf } from '../support/refusal.js'
import { box, refusalOf, useOperations } from './operations.js'

const DAY_MS = 24 * 60 * 60 * 1000

const database = useDatabase()
const { create } = useOperations(database)
const rotate = (id: string, options = {}) =>
  rotateSecret(database.as('subscription_admin'), id, { box, ...options })

beforeAll(() => installClock(database.pool))

/** What the worker would sign with, as the receiver knows it; the current one first. */
async function signsWith(id: string): Promise<string[]> {
  const found = (await readSigningSecrets(database.as('job_worker'), box, [id])).get(id)
  if (!found?.readable) throw new Error('no secrets')
  return found.secrets.map((secret) => (secret.scheme === 'v1' ? formatSecret : publicKeyOf)(secret))
}

async function databaseNow(): Promise<number> {
  const { rows } = await database.pool.query('SELECT sagapost.now() AS now')
  return rows[0].now.getTime()
}

async function stored(id: string): Promise<{ current: number; all: number }> {
  const { rows } = await database.pool.query(
    `SELECT count(*) FILTER (WHERE expires_at IS NULL)::int AS current, count(*)::int AS all
     FROM sagapost.subscription_secrets WHERE subscription_id = $1`,
    [id],
  )
  return rows[0]
}

describe('a rotation', () => {
  it('[U1] creates a new secret; requests are signed with both for 24 hours by the database’s clock, no longer', async () => {
    const { subscription, secret: first } = await create()
    const before = await databaseNow()
    const rotated = await rotate(subscription.id)
    const after = await databaseNow()
    expect(rotated?.previousExpiresAt?.getTime()).toBeGreaterThanOrEqual(before + DAY_MS)
    expect(rotated?.previousExpiresAt?.getTime()).toBeLessThanOrEqual(after + DAY_MS)
    expect(await signsWith(subscription.id)).toEqual([rotated?.secret, first])
    await moveClock(database.pool, '23 hours 59 minutes')
    expect(await signsWith(subscription.id)).toEqual([rotated?.secret, first])
    await moveClock(database.pool, '1 minute')
    expect(await signsWith(subscription.id)).toEqual([rotated?.secret])
  })

  it('[U1] again within the overlap ends the older one at once: never more than two', async () => {
    const { subscription, secret: first } = await create()
    const second = await rotate(subscription.id)
    const third = await rotate(subscription.id, { overlapMs: 60_000 })
    expect(await signsWith(subscription.id)).toEqual([third?.secret, second?.secret])
    const fourth = await rotate(subscription.id)
    expect(await signsWith(subscription.id)).toEqual([fourth?.secret, third?.secret])
    expect(new Set([first, second?.secret, third?.secret, fourth?.secret]).size).toBe(4)
    expect(await stored(subscription.id)).toEqual({ current: 1, all: 4 })
  })

  it('[U1] does not lengthen an overlap that has ended', async () => {
    const { subscription } = await create()
    await rotate(subscription.id, { overlapMs: 1000 })
    await moveClock(database.pool, '1 hour')
    const ends = async () => {
      const { rows } = await database.pool.query(
        'SELECT expires_at FROM sagapost.subscription_secrets WHERE subscription_id = $1 ORDER BY id LIMIT 1',
        [subscription.id],
      )
      return rows[0].expires_at.getTime()
    }
    const ended = await ends()
    await rotate(subscription.id)
    expect(await ends()).toBe(ended)
  })

  it('[U1] without overlap ends the previous one at once', async () => {
    const { subscription } = await create()
    const rotated = await rotate(subscription.id, { overlapMs: 0 })
    expect(await signsWith(subscription.id)).toEqual([rotated?.secret])
  })

  it('[U1] keeps the scheme, or changes it when asked', async () => {
    const { subscription, secret: first } = await create({ scheme: 'v1a' })
    const second = await rotate(subscription.id)
    expect([first, second?.secret]).toEqual([
      expect.stringMatching(/^whpk_/),
      expect.stringMatching(/^whpk_/),
    ])
    const third = await rotate(subscription.id, { scheme: 'v1' })
    expect(third?.secret).toMatch(/^whsec_/)
    expect(await signsWith(subscription.id)).toEqual([third?.secret, second?.secret])
  })

  it('[U1] many concurrent ones run one after the other: one current secret, at most two that sign', async () => {
    for (let round = 0; round < 5; round++) {
      const { subscription } = await create()
      const rotated = await Promise.all(Array.from({ length: 4 }, () => rotate(subscription.id)))
      expect(await stored(subscription.id)).toEqual({ current: 1, all: 5 })
      const signing = await signsWith(subscription.id)
      expect(signing).toHaveLength(2)
      for (const secret of signing) expect(rotated.map((one) => one?.secret)).toContain(secret)
    }
  })

  it('[U1] that fails leaves the secrets as they were', async () => {
    const { subscription, secret } = await create()
    const broken = {
      ...box,
      seal: () => {
        throw new Error('no entropy')
      },
    }
    await expect(rotate(subscription.id, { box: broken })).rejects.toThrow('no entropy')
    expect(await signsWith(subscription.id)).toEqual([secret])
    expect(await stored(subscription.id)).toEqual({ current: 1, all: 1 })
  })

  it.each([{ overlapMs: -1 }, { overlapMs: 0.5 }, { overlapMs: 31 * DAY_MS }, { scheme: 'v2' }])(
    '[U1] is refused in one clear line: %j',
    async (options) => {
      const { subscription } = await create()
      const { code, message } = await refusalOf(rotate(subscription.id, options))
      expect(code).toBe('subscription_invalid')
      expect(message).toMatch(/^(The overlap of two secrets|scheme) must be /)
      expect(await stored(subscription.id)).toEqual({ current: 1, all: 1 })
    },
  )

  it('[U1] of a deleted subscription is refused, of an unknown one null', async () => {
    const { subscription } = await create()
    await deleteSubscription(database.as('subscription_admin'), subscription.id)
    expect((await refusalOf(rotate(subscription.id))).code).toBe('subscription_deleted')
    expect(await stored(subscription.id)).toEqual({ current: 1, all: 1 })
    for (const id of ['999999999', 'abc', `0${subscription.id}`]) expect(await rotate(id)).toBeNull()
  })
})

describe('the end of an overlap', () => {
  const sagas = () => createPostgresStorage({ pool: database.as('saga_app_role') })
  /** As the part `sagas` runs it, until nothing is due. */
  const runDue = async () => {
    const coordinator = createCoordinator({
      storage: sagas(),
      definitions: [defineSecretRotation(() => removeEndedSecrets(database.as('saga_app_role')))],
      onError: (error) => {
        throw error
      },
    })
    const due = `SELECT FROM sagapost.saga_instances
      WHERE definition_id = 'sagapost.rotate-secret' AND state IN (0, 1, 2)
        AND (wake_at <= sagapost.now() OR lease_owner IS NOT NULL)`
    await expect.poll(async () => (await database.pool.query(due)).rowCount).toBe(0)
    await coordinator.stop()
  }
  /** Oldest first: whether anything of it is kept. */
  const kept = async (id: string) => {
    const { rows } = await database.pool.query(
      `SELECT ciphertext IS NOT NULL AS kept FROM sagapost.subscription_secrets WHERE subscription_id = $1 ORDER BY id`,
      [id],
    )
    return rows.map((row) => row.kept)
  }
  const rotationsOf = async (id: string) =>
    (await sagas().listSagas({ definitionId: 'sagapost.rotate-secret', limit: 200 })).filter(
      ({ input }) => (input as { subscriptionId: string }).subscriptionId === id,
    )

  it('[U1] is a saga of the rotation’s own transaction, due to the microsecond; then the secret is erased', async () => {
    const { subscription } = await create()
    const rotated = await rotate(subscription.id, { overlapMs: 60_000 })
    const [rotation, ...more] = await rotationsOf(subscription.id)
    expect(more).toEqual([])
    expect(rotation).toMatchObject({ state: 'Pending', wakeAt: rotated?.previousExpiresAt, leaseOwner: null })
    const { rows } = await database.pool.query(
      `SELECT wake_at = expires_at AS exact FROM sagapost.saga_instances, sagapost.subscription_secrets
       WHERE saga_instances.id = $1 AND subscription_id = $2 AND expires_at IS NOT NULL`,
      [rotation?.id, subscription.id],
    )
    expect(rows).toEqual([{ exact: true }])
    await moveClock(database.pool, '30 seconds')
    await runDue()
    expect(await kept(subscription.id)).toEqual([true, true])
    await moveClock(database.pool, '30 seconds')
    expect(await signsWith(subscription.id)).toEqual([rotated?.secret])
    await runDue()
    expect(await kept(subscription.id)).toEqual([false, true])
    expect(await sagas().getSaga(rotation?.id as string)).toMatchObject({ state: 'Completed' })
    expect(await signsWith(subscription.id)).toEqual([rotated?.secret])
  })

  it('[U1] without overlap, or by another rotation, is at once and needs no saga', async () => {
    const { subscription } = await create()
    await rotate(subscription.id, { overlapMs: 0 })
    expect(await kept(subscription.id)).toEqual([false, true])
    expect(await rotationsOf(subscription.id)).toEqual([])
    await rotate(subscription.id, { overlapMs: 60_000 })
    await rotate(subscription.id, { overlapMs: 120_000 })
    expect(await kept(subscription.id)).toEqual([false, false, true, true])
    await moveClock(database.pool, '1 minute')
    await runDue()
    expect(await kept(subscription.id)).toEqual([false, false, true, true])
    await moveClock(database.pool, '1 minute')
    await runDue()
    expect(await kept(subscription.id)).toEqual([false, false, false, true])
  })

  it('[U1] of a cancelled saga is done by the next rotation', async () => {
    const [first, second] = [await create(), await create()].map(({ subscription }) => subscription.id) as [
      string,
      string,
    ]
    await rotate(first, { overlapMs: 1_000 })
    const [rotation] = await rotationsOf(first)
    await sagas().requestCancel(rotation?.id as string, { by: 'test', reason: 'no' })
    await rotate(second, { overlapMs: 2_000 })
    await moveClock(database.pool, '2 seconds')
    await runDue()
    expect(await sagas().getSaga(rotation?.id as string)).toMatchObject({ state: 'Cancelled' })
    expect([await kept(first), await kept(second)]).toEqual([
      [false, true],
      [false, true],
    ])
  })

  it('[O8] a repeated request is answered while its secret exists, and refused afterwards', async () => {
    const { subscription } = await create()
    const ask = () => rotate(subscription.id, { overlapMs: 0, idempotencyKey: 'rotate-once' })
    const rotated = await ask()
    expect(await ask()).toEqual(rotated)
    await rotate(subscription.id, { overlapMs: 0 })
    expect((await refusalOf(ask())).code).toBe('subscription_secret_removed')
    expect(await stored(subscription.id)).toEqual({ current: 1, all: 3 })
  })

  it('[U1] that fails rolls its saga back', async () => {
    const { subscription } = await create()
    const broken = {
      ...box,
      seal: () => {
        throw new Error('no entropy')
      },
    }
    await expect(rotate(subscription.id, { box: broken })).rejects.toThrow('no entropy')
    expect(await rotationsOf(subscription.id)).toEqual([])
  })

  it('[S20] subscription_admin can start no other saga', async () => {
    const given = JSON.stringify({ id: 'x', definition_id: 'checkout', definition_version: 1, input: '{}' })
    const client = await database.as('subscription_admin').connect()
    expect(await codeOf(client.query('SELECT * FROM sagapost.start_secret_rotation($1)', [given]))).toBe(
      'permission_denied',
    )
    client.release()
  })
})

describe('the secrets of a batch, under job_worker', () => {
  const read = (ids: string[], withBox = box) => readSigningSecrets(database.as('job_worker'), withBox, ids)

  it('[U1] are read by subscription, none for one that does not exist', async () => {
    const one = await create()
    const two = await create({ scheme: 'v1a' })
    const other = await create()
    const found = await read([one.subscription.id, two.subscription.id, '999999999'])
    expect([...found.keys()].sort()).toEqual([one.subscription.id, two.subscription.id].sort())
    expect(found.has(other.subscription.id)).toBe(false)
    expect(await read([])).toEqual(new Map())
  })

  it('[U1] a ciphertext that was moved from another subscription does not open; the others do', async () => {
    const victim = await create()
    const attacker = await create()
    const bystander = await create()
    await database.pool.query(
      `UPDATE sagapost.subscription_secrets
       SET ciphertext = (SELECT ciphertext FROM sagapost.subscription_secrets WHERE subscription_id = $2)
       WHERE subscription_id = $1`,
      [victim.subscription.id, attacker.subscription.id],
    )
    const found = await read([victim, attacker, bystander].map(({ subscription }) => subscription.id))
    expect(found.get(victim.subscription.id)).toMatchObject({
      readable: false,
      error: {
        code: 'subscription_secret_invalid',
        message: expect.stringContaining('another subscription'),
      },
    })
    for (const { subscription, secret } of [attacker, bystander]) {
      const one = found.get(subscription.id)
      expect(one?.readable && one.secrets.map(formatSecret)).toEqual([secret])
    }
  })

  it('[U1] a secret that does not open withholds the other of its subscription: requests are signed with both or not at all', async () => {
    const { subscription } = await create()
    await rotate(subscription.id, { box: createSecretBox(randomBytes(32)) })
    expect((await read([subscription.id])).get(subscription.id)).toMatchObject({ readable: false })
    await database.pool.query(
      `UPDATE sagapost.subscription_secrets SET ciphertext = '\\x00'
       WHERE subscription_id = $1 AND expires_at IS NOT NULL`,
      [subscription.id],
    )
    expect((await read([subscription.id])).get(subscription.id)).toMatchObject({ readable: false })
  })

  it('[U1] none opens under another master key, and the reason is named', async () => {
    const { subscription } = await create()
    const found = await read([subscription.id], createSecretBox(randomBytes(32)))
    expect(found.get(subscription.id)).toMatchObject({
      readable: false,
      error: { message: expect.stringMatching(/sealed with another SAGAPOST_MASTER_KEY$/) },
    })
  })
})
