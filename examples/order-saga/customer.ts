// A customer who wants to be told: an HTTPS server that verifies what it gets, and prints it.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { nodeHandler } from 'sagapost/receiver'
import { generate } from 'selfsigned'

export interface Customer {
  readonly url: string
  /** For the shop to trust; a real customer has one that everybody trusts. */
  readonly certificate: string
  /** The shop has shown the secret of the subscription. */
  know(secret: string): void
  leave(): Promise<void>
}

export async function startCustomer(): Promise<Customer> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
    ...{ keyType: 'ec', curve: 'P-256', algorithm: 'sha256' },
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })
  let secret = ''
  const handler = nodeHandler({
    secret: () => secret,
    onEvent({ payload }) {
      const { item, parcel } = payload as { item: string; parcel: string }
      console.log(`  customer: told that ${item} is ${parcel}`)
    },
  })
  const server = createServer({ cert, key }, handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    certificate: cert,
    know(shown) {
      secret = shown
    },
    async leave() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
