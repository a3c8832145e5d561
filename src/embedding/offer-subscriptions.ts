import { readBreakers } from '../delivery/index.js'
import { SagapostError } from '../errors/index.js'
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  type Subscription as PlainSubscription,
  rotateSecret,
  sendTestRequest,
  verifySubscription,
} from '../subscriptions/index.js'
import type { WebhookOutcome } from '../webhook/index.js'
import type { Context } from './context.js'
import type { SubscriptionOperations } from './operations.js'
import type { RequestOutcome, Subscription } from './types.js'

/** Under the role subscription_admin. */
export function offerSubscriptions(context: Context): SubscriptionOperations {
  const { allowedCidrs } = context
  const admin = () => context.pool('subscription_admin')

  const withBreakers = async (found: readonly PlainSubscription[]): Promise<Subscription[]> => {
    const ids = found.map(({ id }) => id)
    const breakers = ids.length > 0 ? await readBreakers(admin(), ids) : undefined
    return found.map((each) => ({ ...each, breaker: breakers?.get(each.id) ?? null }))
  }
  const show = async (found: PlainSubscription): Promise<Subscription> => {
    const [shown] = await withBreakers([found])
    return shown as Subscription
  }

  return {
    async create(subscription, { idempotencyKey } = {}) {
      const options = { box: context.box(), allowedCidrs, idempotencyKey }
      const created = await createSubscription(admin(), subscription, options)
      return { ...created.subscription, breaker: null, secret: created.secret }
    },
    async get(id) {
      const found = await getSubscription(admin(), id)
      return found && show(found)
    },
    async list(filter) {
      const { data, nextCursor } = await listSubscriptions(admin(), filter)
      return { data: await withBreakers(data), nextCursor }
    },
    change: async (id, change) =>
      show(required(await changeSubscription(admin(), id, change, { allowedCidrs }), id)),
    delete: async (id) => show(required(await deleteSubscription(admin(), id), id)),
    async verify(id) {
      const options = { box: context.box(), sender: context.sender() }
      const outcome = required(await verifySubscription(admin(), id, options), id)
      const response = toRequestOutcome(outcome.response)
      if (outcome.verified) return { verified: true, response }
      return { verified: false, reason: outcome.reason, detail: outcome.detail, response }
    },
    rotateSecret: async (id, rotation) =>
      required(await rotateSecret(admin(), id, { ...rotation, box: context.box() }), id),
    async test(id) {
      const options = { box: context.box(), sender: context.sender() }
      return toRequestOutcome(required(await sendTestRequest(admin(), id, options), id))
    },
  }
}

function required<Found>(found: Found | null, id: string): Found {
  if (found !== null) return found
  throw new SagapostError('subscription_not_found', `there is no subscription ${String(id).slice(0, 40)}`)
}

function toRequestOutcome(outcome: WebhookOutcome): RequestOutcome {
  return {
    delivered: outcome.delivered,
    responseStatus: outcome.responseStatus ?? null,
    errorCode: outcome.delivered ? null : outcome.errorCode,
    durationMs: outcome.durationMs,
    responseExcerpt: outcome.responseExcerpt ?? null,
  }
}
