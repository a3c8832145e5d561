import { countMatching, requeueDeadLetters } from '../built-in-sagas/index.js'
import {
  cancelDelivery,
  getDeadLetter,
  getDelivery,
  listDeadLetters,
  listDeliveries,
  requeueDeadLetter,
} from '../delivery/index.js'
import type { Context } from './context.js'
import type { DeadLetterOperations, DeliveryOperations } from './operations.js'

/** Reads under saga_readonly_role, cancels under dead_letter_operator. */
export function offerDeliveries(context: Context): DeliveryOperations {
  return {
    get: async (id) => getDelivery(context.pool('saga_readonly_role'), id),
    list: async (filter) => listDeliveries(context.pool('saga_readonly_role'), filter),
    cancel: async (id) => cancelDelivery(context.pool('dead_letter_operator'), id),
  }
}

/** Reads under saga_readonly_role, requeues under dead_letter_operator. */
export function offerDeadLetters(context: Context): DeadLetterOperations {
  return {
    async get(id) {
      const found = await getDeadLetter(context.pool('saga_readonly_role'), id)
      if (found === null) return null
      const { payloadSnapshot, ...rest } = found
      return { ...rest, payloadSnapshotJson: payloadSnapshot }
    },
    list: async (filter) => listDeadLetters(context.pool('saga_readonly_role'), filter),
    async requeue(id) {
      const requeued = await requeueDeadLetter(context.pool('dead_letter_operator'), id)
      context.metrics.requeued(requeued.created)
      if (requeued.created) context.wake('first-jobs')
      return requeued
    },
    async requeueMatching(filter, { idempotencyKey } = {}) {
      const started = await requeueDeadLetters(context.pool('dead_letter_operator'), filter, {
        idempotencyKey,
      })
      if (started.created) context.wake('sagas')
      return started
    },
    countMatching: async (filter) => countMatching(context.pool('saga_readonly_role'), filter),
  }
}
