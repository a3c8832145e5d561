import pg from 'pg'
import { createRolePool, migrate } from '../../src/database/index.js'
import { checkInvariants } from '../../src/doctor/index.js'
import { createSecretBox, createSubscription, verifySubscription } from '../../src/subscriptions/index.js'
import { createWebhookSender } from '../../src/webhook/index.js'
import type { Bench } from './open-bench.js'
import { masterKey } from './sagapost-environment.js'

const LOOPBACK = '127.0.0.0/8'
const VERIFY_MS_MAX = 10_000

export interface Endpoint {
  eventType: string
  /** On the receiver. */
  path: string
}

export interface SagapostDatabase {
  name: string
  url: string
  pool: pg.Pool
  /** Checks every invariant, with everything come to its end; throws with what is violated. */
  check(settled?: boolean): Promise<void>
}

/** A migrated database with verified subscriptions at the receiver. */
export async function prepareSagapost(
  bench: Bench,
  name: string,
  endpoints: readonly Endpoint[],
): Promise<SagapostDatabase> {
  const { url, pool } = await bench.createDatabase(name)
  await migrate({ databaseUrl: url })
  await subscribe(bench, url, endpoints)
  return {
    name,
    url,
    pool,
    async check(settled = true) {
      // Not a pool of a part: those give up on a statement after 30 s, and here are millions of rows to check.
      const reader = new pg.Pool({ connectionString: url, max: 1, options: '-c role=saga_readonly_role' })
      try {
        const violations = await checkInvariants(reader, { settled })
        if (violations.length > 0) {
          throw new Error(`Invariants are violated in ${name}: ${JSON.stringify(violations, null, 2)}`)
        }
      } finally {
        await reader.end()
      }
    },
  }
}

async function subscribe(bench: Bench, databaseUrl: string, endpoints: readonly Endpoint[]): Promise<void> {
  const admin = createRolePool({ databaseUrl, role: 'subscription_admin', connectionsMax: 1 })
  const sender = createWebhookSender({
    requestTimeoutMs: VERIFY_MS_MAX,
    allowedCidrs: [LOOPBACK],
    extraCertificateAuthorities: [bench.receiver.authority],
  })
  const box = createSecretBox(masterKey)
  try {
    for (const { eventType, path } of endpoints) {
      const callbackUrl = bench.receiver.url + path
      const { subscription } = await createSubscription(
        admin,
        { eventType, callbackUrl },
        { box, allowedCidrs: [LOOPBACK] },
      )
      const outcome = await verifySubscription(admin, subscription.id, { box, sender })
      if (!outcome?.verified) throw new Error(`${path} was not verified: ${outcome?.detail}`)
    }
  } finally {
    await Promise.all([admin.end(), sender.close()])
  }
}

/** One snapshot: is anything not at its end? Partial indexes only. */
export const sagapostOpenWork = `
  SELECT EXISTS (SELECT FROM sagapost.event_routing_queue)
      OR EXISTS (SELECT FROM sagapost.webhook_delivery_sagas WHERE status = 'Pending')
      OR EXISTS (SELECT FROM sagapost.webhook_delivery_sagas WHERE status = 'PendingRetry')
      OR EXISTS (SELECT FROM sagapost.webhook_delivery_jobs WHERE status IN ('Pending', 'Leased'))
      OR EXISTS (SELECT FROM sagapost.delivery_result_queue) AS open`
