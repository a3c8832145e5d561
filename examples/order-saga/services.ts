/**
 * Three services that the shop does not own: stock, bank and carrier. They stand in for calls over the network, and keep
 * what such services keep: each request's key, so that the same request again does nothing new.
 */
export class OutOfReach extends Error {}

const done = new Map<string, string>()
let numbers = 0

function once(key: string, what: string): string {
  const before = done.get(key)
  if (before !== undefined) return before
  const id = `${what}-${++numbers}`
  done.set(key, id)
  return id
}

export const stock = {
  async reserve(item: string, quantity: number, key: string): Promise<string> {
    console.log(`  stock: ${quantity} x ${item} reserved`)
    return once(key, 'reservation')
  },
  async release(reservation: string): Promise<void> {
    console.log(`  stock: ${reservation} released`)
  },
}

let bankIsBusy = true

export const bank = {
  async collect(cents: number, key: string): Promise<string> {
    if (bankIsBusy) {
      bankIsBusy = false
      console.log('  bank: busy')
      throw new Error('the bank is busy')
    }
    console.log(`  bank: ${cents} cents collected`)
    return once(key, 'payment')
  },
  async refund(payment: string): Promise<void> {
    console.log(`  bank: ${payment} refunded`)
  },
}

export const carrier = {
  async send(item: string, address: string, key: string): Promise<string> {
    if (address === 'the moon') throw new OutOfReach('nobody delivers there')
    console.log(`  carrier: ${item} is on its way to ${address}`)
    return once(key, 'parcel')
  },
}
