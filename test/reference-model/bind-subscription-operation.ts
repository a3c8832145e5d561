import {
  changeSubscription,
  createSecretBox,
  createSubscription,
  deactivateGoneSubscriptions,
  deleteSubscription,
  verifySubscription,
} from '../../src/subscriptions/index.js'
import type { WebhookRequest } from '../../src/webhook/index.js'
import type { Model } from './model.js'
import { get } from './plan.js'
import type { Operation } from './steps.js'
import {
  type Change,
  goneSubscriptions,
  planChange,
  planRemove,
  planSwitchOff,
  planVerify,
} from './subscription-rules.js'
import { type Call, observeValue, pick, type World } from './world.js'

type SubscriptionOperation = Operation & { do: 'change' | 'verify' | 'remove' | 'switch off the gone' }

const box = createSecretBox(Buffer.alloc(32, 7))
/** Longer than any run goes on. */
const GONE_WITHIN_MS = 365 * 86_400_000

/** A receiver that answers every challenge as it should. */
const sender = {
  async send({ body }: WebhookRequest) {
    const { challenge } = JSON.parse(body.toString()) as { challenge: string }
    return { delivered: true as const, responseStatus: 200, durationMs: 1, responseExcerpt: challenge }
  },
}

/** Made as the API would, under a key: whoever did not get the answer asks again. */
export const create = (pool: Parameters<typeof createSubscription>[0], wanted: CreateInput) =>
  createSubscription(
    pool,
    { eventType: wanted.type, callbackUrl: wanted.url, maxAttempts: wanted.limit ?? undefined },
    { box, allowedCidrs: [], idempotencyKey: `${wanted.type} ${wanted.url}` },
  )

interface CreateInput {
  type: string
  url: string
  limit: number | null
}

export const verify = (pool: Parameters<typeof verifySubscription>[0], id: string) =>
  verifySubscription(pool, id, { box, sender })

/** The calls under subscription_admin. */
export function bindSubscriptionOperation(world: World, operation: SubscriptionOperation): Call | null {
  if (operation.do === 'switch off the gone') {
    const nameOf = (id: string) => [...world.look.subscriptionIds].find(([, known]) => known === id)?.[0]
    return {
      operation,
      role: 'subscription_admin',
      run: (pool) => deactivateGoneSubscriptions(pool, GONE_WITHIN_MS),
      plans: () => [planSwitchOff()],
      // They are looked for in a statement of its own.
      plansUpTo: (commits) => [planSwitchOff(Math.max(0, commits - 1))],
      observe: observeValue((ids: string[]) => ({ gone: ids.map(nameOf).sort() })),
      waits: (model) =>
        goneSubscriptions(model).some((name) => isHeld(model, name) || model.locked.has('version')),
      canHold: false,
    }
  }
  const name = pick([...world.model.subscriptions.keys()], operation.which)
  if (name === undefined) return null
  const id = world.look.subscriptionIds.get(name) as string
  const isDeleted = (model: Model) => get(model.subscriptions, name).deleted
  switch (operation.do) {
    case 'change': {
      const change = changeOf(world, name, operation.to)
      const { active, limit: maxAttempts, url: callbackUrl } = change
      return {
        operation,
        role: 'subscription_admin',
        run: (pool) =>
          changeSubscription(pool, id, { active, maxAttempts, callbackUrl }, { allowedCidrs: [] }),
        plans: (paused) => [planChange(name, change, { writes: paused?.at === 'locked' })],
        observe: observeValue((row: { active: boolean }) => ({ active: row.active })),
        waits: (model) => {
          const isRefused =
            isDeleted(model) || (change.active === true && !get(model.subscriptions, name).verified)
          return isHeld(model, name) || (!isRefused && model.locked.has('version'))
        },
        canHold: true,
      }
    }
    case 'verify':
      return {
        operation,
        role: 'subscription_admin',
        run: (pool) => verify(pool, id),
        plans: () => planVerify(name),
        observe: observeValue((outcome: { verified: boolean }) => ({ verified: outcome.verified })),
        waits: (model) => !isDeleted(model) && (isHeld(model, name) || model.locked.has('version')),
        canHold: false,
      }
    case 'remove':
      return {
        operation,
        role: 'subscription_admin',
        run: (pool) => deleteSubscription(pool, id),
        plans: () => [planRemove(name)],
        observe: observeValue((row: { deletedAt: Date | null }) => ({ deleted: row.deletedAt !== null })),
        waits: (model) => !isDeleted(model) && (isHeld(model, name) || model.locked.has('version')),
        canHold: false,
      }
  }
}

const isHeld = ({ locked }: Model, name: string) =>
  locked.has(`subscription ${name}`) || locked.has(`share ${name}`)

function changeOf(world: World, name: string, to: (Operation & { do: 'change' })['to']): Change {
  switch (to) {
    case 'off':
      return { active: false }
    case 'on':
      return { active: true }
    case 'moved':
      world.count += 1
      return { url: `https://receiver.example/${name}/${world.count}` }
    case 'limit 1':
      return { limit: 1 }
    case 'limit 2':
      return { limit: 2 }
    case 'no limit':
      return { limit: null }
  }
}
