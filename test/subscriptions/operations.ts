import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import { SagapostError } from '../../src/errors/index.js'
import type { SubscriptionChange } from '../../src/subscriptions/change-subscription.js'
import type { NewSubscription } from '../../src/subscriptions/create-subscription.js'
import {
  changeSubscription,
  createSecretBox,
  createSubscription,
  type SecretBox,
  sendTestRequest,
  verifySubscription,
} from '../../src/subscriptions/index.js'
import { createWebhookSender, type WebhookSender } from '../../src/webhook/index.js'
import type { TestDatabase } from '../support/database.js'

/** Where the receivers of these tests are. */
export const allowedCidrs = ['127.0.0.0/8', '::1/128']

export const box = createSecretBox(randomBytes(32))

/** The operations as the API will call them: under subscription_admin, with one box and one sender. */
export function useOperations(database: TestDatabase, certificateAuthority?: () => string) {
  let sender: WebhookSender
  beforeAll(() => {
    sender = createWebhookSender({
      requestTimeoutMs: 20_000,
      allowedCidrs,
      ...(certificateAuthority ? { extraCertificateAuthorities: [certificateAuthority()] } : {}),
    })
  })
  afterAll(() => sender.close())
  const pool = () => database.as('subscription_admin')
  return {
    create: (input: Partial<NewSubscription> = {}, withBox: SecretBox = box) =>
      createSubscription(
        pool(),
        { eventType: 'order.placed', callbackUrl: 'https://receiver.example/hooks', ...input },
        { box: withBox, allowedCidrs },
      ),
    change: (id: string, change: SubscriptionChange) =>
      changeSubscription(pool(), id, change, { allowedCidrs }),
    verify: (id: string, withBox: SecretBox = box) =>
      verifySubscription(pool(), id, { box: withBox, sender }),
    test: (id: string, withBox: SecretBox = box) => sendTestRequest(pool(), id, { box: withBox, sender }),
    /** Verified and active without a receiver: by the database's own function, as a passed verification ends. */
    async confirm(id: string): Promise<void> {
      const challenge = randomBytes(32).toString('hex')
      await pool().query('UPDATE sagapost.subscriptions SET verification_challenge = $2 WHERE id = $1', [
        id,
        challenge,
      ])
      await pool().query('SELECT sagapost.confirm_verification($1, $2)', [id, challenge])
    },
  }
}

/** The code and the line of the SagapostError that the call ended with; anything else is thrown. */
export async function refusalOf(call: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await call
  } catch (error) {
    if (error instanceof SagapostError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('it was accepted')
}
