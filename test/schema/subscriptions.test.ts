import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { insertEvent, insertSubscription } from '../support/fixtures.js'
import { codeOf } from '../support/refusal.js'

const database = useDatabase()

async function read(id: string) {
  const { rows } = await database.pool.query('SELECT * FROM sagapost.subscriptions WHERE id = $1', [id])
  return rows[0]
}

const update = (id: string, assignments: string) =>
  database
    .as('subscription_admin')
    .query(`UPDATE sagapost.subscriptions SET ${assignments} WHERE id = $1`, [id])

describe('the callback URL', () => {
  it.each([
    'http://receiver.example/',
    'ftp://receiver.example/',
    'httpss://receiver.example/',
    'https:/receiver.example',
    'https://',
    'https:///path',
    'https://?query',
    ' https://receiver.example/',
    'https://receiver.example/a b',
    'https://receiver.example/\nx',
    'javascript:https://receiver.example/',
    '',
  ])('[U3] %j is refused', async (url) => {
    expect(await codeOf(insertSubscription(database.pool, { url }))).toBe('callback_url_not_https')
  })

  it.each(['https://receiver.example', 'https://receiver.example:8443/a?b=c#d', 'HTTPS://receiver.example/'])(
    '[U3] %j is taken',
    async (url) => {
      expect(await codeOf(insertSubscription(database.pool, { url }))).toBe('accepted')
    },
  )

  it('[U3] is refused on a change as well', async () => {
    const id = await insertSubscription(database.pool)
    expect(await codeOf(update(id, `callback_url = 'http://receiver.example/'`))).toBe(
      'callback_url_not_https',
    )
  })

  it('[U4, U6] revokes verified, active and an open challenge when it changes', async () => {
    const id = await insertSubscription(database.pool)
    await update(id, `verification_challenge = 'sent to the old one'`)
    await update(id, `callback_url = 'https://other.example/', active = true`)
    expect(await read(id)).toMatchObject({ verified: false, active: false, verification_challenge: null })
  })

  it('[U4] keeps verified and active when the same URL is written again', async () => {
    const id = await insertSubscription(database.pool)
    await update(id, 'callback_url = callback_url')
    expect(await read(id)).toMatchObject({ verified: true, active: true })
  })
})

describe('verification', () => {
  const confirm = async (id: string, challenge: string) => {
    const { rows } = await database
      .as('subscription_admin')
      .query('SELECT sagapost.confirm_verification($1, $2) AS confirmed', [id, challenge])
    return rows[0].confirmed
  }

  it('[U4] verifies and activates when the challenge comes back, once', async () => {
    const id = await insertSubscription(database.pool, { active: false, verified: false })
    await update(id, `verification_challenge = 'challenge-number-1'`)
    expect(await confirm(id, 'challenge-number-2')).toBe(false)
    expect(await read(id)).toMatchObject({ verified: false, active: false })
    expect(await confirm(id, 'challenge-number-1')).toBe(true)
    expect(await read(id)).toMatchObject({ verified: true, active: true, verification_challenge: null })
    expect(await confirm(id, 'challenge-number-1')).toBe(false)
  })

  it('[U4] is void when the URL changed while the challenge was under way', async () => {
    const id = await insertSubscription(database.pool, { active: false, verified: false })
    await update(id, `verification_challenge = 'challenge-number-1'`)
    await update(id, `callback_url = 'https://other.example/'`)
    expect(await confirm(id, 'challenge-number-1')).toBe(false)
    expect(await read(id)).toMatchObject({ verified: false })
  })

  it('[U4] does not confirm an absent challenge', async () => {
    const id = await insertSubscription(database.pool, { active: false, verified: false })
    const { rows } = await database
      .as('subscription_admin')
      .query('SELECT sagapost.confirm_verification($1, NULL) AS confirmed', [id])
    expect(rows[0].confirmed).toBe(false)
  })

  it('[U4] does not confirm a short challenge, or for a deleted subscription', async () => {
    const id = await insertSubscription(database.pool, { active: false, verified: false })
    expect(await codeOf(update(id, `verification_challenge = ''`))).toBe('subscription_invalid')
    await update(id, `verification_challenge = 'challenge-number-1'`)
    await update(id, 'deleted_at = sagapost.now()')
    expect(await confirm(id, 'challenge-number-1')).toBe(false)
    expect(await read(id)).toMatchObject({ verified: false })
  })

  it('[U4] clears the reason of the deactivation', async () => {
    const id = await insertSubscription(database.pool)
    await update(
      id,
      `active = false, deactivation_reason = 'http_410', verification_challenge = 'challenge-number-1'`,
    )
    expect(await confirm(id, 'challenge-number-1')).toBe(true)
    expect(await read(id)).toMatchObject({ active: true, deactivation_reason: null })
  })

  it('[U2] delivers nothing of what was published before', async () => {
    const type = 'verify.late'
    const event = await insertEvent(database.pool, { type })
    await database.pool.query('DELETE FROM sagapost.event_routing_queue')
    const id = await insertSubscription(database.pool, { type, active: false, verified: false })
    await update(id, `verification_challenge = 'challenge-number-1'`)
    expect(await confirm(id, 'challenge-number-1')).toBe(true)
    await update(id, 'active = false')
    await update(id, 'active = true')
    const { rows } = await database.pool.query(
      `SELECT event_id FROM sagapost.unrouted_events
       UNION ALL SELECT event_id FROM sagapost.webhook_delivery_sagas WHERE event_id = $1`,
      [event],
    )
    expect(rows).toEqual([])
  })

  it('[U4] no role sets verified itself', async () => {
    const id = await insertSubscription(database.pool, { active: false, verified: false })
    expect(await codeOf(update(id, 'verified = true'))).toBe('permission_denied')
  })
})

it('[U6] active is never true while verified is false', async () => {
  expect(await codeOf(insertSubscription(database.pool, { active: true, verified: false }))).toBe(
    'subscription_not_verified',
  )
  const id = await insertSubscription(database.pool, { active: false, verified: false })
  expect(await codeOf(update(id, 'active = true'))).toBe('subscription_not_verified')
})

it('[S15] the limit of attempts is 1 to 100, never 0', async () => {
  const id = await insertSubscription(database.pool)
  for (const limit of ['0', '-1', '101']) {
    expect(await codeOf(update(id, `max_attempts = ${limit}`))).toBe('subscription_invalid')
  }
  for (const limit of ['1', '100', 'NULL'])
    expect(await codeOf(update(id, `max_attempts = ${limit}`))).toBe('accepted')
})

it('[U1] updated_at follows every change', async () => {
  const id = await insertSubscription(database.pool)
  await database.pool.query(`UPDATE sagapost.subscriptions SET updated_at = '2001-01-01' WHERE id = $1`, [id])
  await update(id, 'max_attempts = 3')
  const { rows } = await database.pool.query(
    'SELECT updated_at >= created_at AS later FROM sagapost.subscriptions WHERE id = $1',
    [id],
  )
  expect(rows[0].later).toBe(true)
})

it('[U1] a deleted subscription is inactive and never changes again', async () => {
  const id = await insertSubscription(database.pool)
  expect(await codeOf(update(id, 'deleted_at = sagapost.now()'))).toBe('subscription_deleted')
  await update(id, 'deleted_at = sagapost.now(), active = false')
  expect(await codeOf(update(id, 'active = true'))).toBe('subscription_deleted')
  expect(await codeOf(update(id, 'deleted_at = NULL'))).toBe('subscription_deleted')
})

it.each(['', 'order placed', 'order/placed', 'ördér', 'a\nb'])(
  '[U1, E1] the event type %j is refused',
  async (type) => {
    expect(await codeOf(insertSubscription(database.pool, { type }))).toBe('event_type_invalid')
  },
)

it('[R5] every change of a subscription is counted in its own transaction', async () => {
  const version = async () => {
    const { rows } = await database
      .as('router_worker')
      .query('SELECT version FROM sagapost.subscription_version')
    return Number(rows[0].version)
  }
  const start = await version()
  const id = await insertSubscription(database.pool, { active: false })
  expect(await version()).toBe(start + 1)
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('UPDATE sagapost.subscriptions SET active = false WHERE id = $1', [id])
    expect(await version()).toBe(start + 1)
    await client.query('COMMIT')
  } finally {
    client.release()
  }
  expect(await version()).toBe(start + 2)
  await database.pool.query('DELETE FROM sagapost.subscriptions WHERE id = $1', [id])
  expect(await version()).toBe(start + 3)
  await database.pool.query('TRUNCATE sagapost.subscriptions CASCADE')
  expect(await version()).toBe(start + 4)
})
