import { expect } from 'vitest'
import { saga } from '../../src/sagas/index.js'
import { NonRetryableError } from '../../src/sagas/saga-error.js'
import type { StorageUnderTest } from './storages.js'
import type { useCoordinators } from './use-coordinators.js'

const fast = { backoff: 'fixed', initialInterval: '1ms', jitter: 'none' } as const

/** A wrong card, with everything that an error can tell. */
export function declined(): Error {
  return new NonRetryableError('the card was declined', {
    code: 'declined',
    details: { card: 'sesame-4711' },
    cause: new TypeError('sesame from the bank', {
      cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
    }),
  })
}

/** Has every kind of step, passes its pivot and completes. */
const order = saga<{ order: number }>('order', {
  version: 2,
  timeout: '10m',
  publish: true,
  retry: { ...fast, retryOn: ['busy'] },
})
  .step('reserve', {
    metadata: { team: 'stock' },
    run({ attempt }) {
      if (attempt === 1) throw Object.assign(new Error('try again'), { code: 'busy' })
      return { seat: 7 }
    },
  })
  .waitFor('paid', { signal: 'paid', key: ({ sagaId }) => sagaId, timeout: '5m' })
  .child('packed', { saga: saga('pack').step('pack', { run: () => 'parcel' }), input: () => undefined })
  .sleep('rest', { for: '1ms' })
  .pivot()
  .step('tell', { run: ({ outputs }) => ({ told: outputs.packed }) })

/** Fails, and is undone but for one step that cannot be. */
const stuck = saga<string>('stuck', { publish: true, retry: { ...fast, maxAttempts: 1 } })
  .step('reserve', { run: () => 'seat', compensate: () => Promise.reject(declined()) })
  .step('book', { run: () => 'room', compensate: () => {} })
  .step('charge', { run: () => Promise.reject(declined()) })

const waiting = saga<string>('waiting', { timeout: '1h' })
  .step('one', { run: () => 1 })
  .waitFor('never', { signal: 'never', key: () => 'k' })

export const variedSagas = { order, stuck, cancelled: waiting, timedOut: waiting }

/** Runs them all, and answers the ids: to their ends, or to where an operator is waited for. */
export async function runVariedSagas(
  { storage, moveMs }: StorageUnderTest,
  { coordinate }: Pick<ReturnType<typeof useCoordinators>, 'coordinate'>,
): Promise<Record<keyof typeof variedSagas, string>> {
  const coordinator = coordinate([order, stuck, waiting])
  const isAsleep = async (id: string) => {
    const waits = async () =>
      (await storage.getSaga(id))?.leaseOwner === null &&
      (await storage.listSteps(id)).some(({ state, waitsFor }) => state === 'Running' && waitsFor !== null)
    await expect.poll(waits, { timeout: 20_000 }).toBe(true)
  }
  const options = {
    key: 'order-7',
    name: 'Order 7',
    description: 'Two lamps for Ada',
    metadata: { tenant: 'a' },
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
  }
  const ordered = await coordinator.start(order, { order: 7 }, options)
  await isAsleep(ordered.id)
  await coordinator.signal({ name: 'paid', key: ordered.id, payload: { cents: 4000 } })
  const failed = await coordinator.start(stuck, 'in')
  const cancelled = await coordinator.start(waiting, 'in')
  await isAsleep(cancelled.id)
  await coordinator.cancel(cancelled.id, { by: 'ann', reason: 'no need' })
  await Promise.all([ordered, failed, cancelled].map((handle) => handle.result()))
  const overdue = await coordinator.start(waiting, 'in')
  await isAsleep(overdue.id)
  await moveMs(3_600_000)
  coordinator.wake()
  await overdue.result()
  return { order: ordered.id, stuck: failed.id, cancelled: cancelled.id, timedOut: overdue.id }
}
