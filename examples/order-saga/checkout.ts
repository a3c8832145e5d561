import { NonRetryableError, saga } from 'sagapost'
import { bank, carrier, OutOfReach, stock } from './services.js'

export interface Order {
  id: number
  item: string
  quantity: number
  cents: number
  address: string
}

/** What the bank tells us when a customer has paid. */
export interface Payment {
  cents: number
}

/**
 * An order: reserve, wait for the payment, ship, and note it in the shop's own table. What is not paid in time, or cannot
 * be shipped, is paid back and released; what is shipped is not, whatever comes.
 */
export const checkout = saga<Order>('checkout', {
  version: 1,
  timeout: '30d',
  retry: { maxAttempts: 4, initialInterval: '200ms' },
})
  .step('reserve', {
    run: async ({ input, idempotencyKey }) => ({
      reservation: await stock.reserve(input.item, input.quantity, idempotencyKey),
    }),
    compensate: ({ output }) => output && stock.release(output.reservation),
  })
  // The bank calls back when the customer has paid: see shop.ts. Until then the order is a row, and nothing else.
  .waitFor('paid', { signal: 'payment.received', key: ({ input }) => `order-${input.id}`, timeout: '3d' })
  .step('collect', {
    timeout: '30s',
    run: async ({ outputs: { paid }, idempotencyKey }) => {
      if (paid.timedOut) throw new NonRetryableError('nobody has paid', { code: 'not_paid' })
      const { cents } = paid.payload as Payment
      return { payment: await bank.collect(cents, idempotencyKey) }
    },
    compensate: ({ output }) => output && bank.refund(output.payment),
  })
  .step('ship', {
    run: async ({ input, idempotencyKey }) => {
      try {
        return { parcel: await carrier.send(input.item, input.address, idempotencyKey) }
      } catch (error) {
        // Trying again would not help: everything before is undone at once.
        if (error instanceof OutOfReach) throw new NonRetryableError(error.message, { code: 'out_of_reach' })
        throw error
      }
    },
  })
  // The parcel is on its way, and nothing brings it back: a customer who cannot be told gets no refund for that.
  .pivot()
  .transaction('note', {
    run: async ({ tx, input, outputs }) => {
      await tx.query(`UPDATE shop_orders SET state = 'shipped', parcel = $2 WHERE id = $1`, [
        input.id,
        outputs.ship.parcel,
      ])
    },
  })
  // The customer is told by webhook. The order is done when they have it; until then it is, again, a row. Should it be
  // dead-lettered, an operator requeues it, or skips it.
  .deliver('tell', {
    event: ({ input, outputs }) => ({
      type: 'order.shipped',
      payload: { order: input.id, item: input.item, parcel: outputs.ship.parcel },
    }),
  })
