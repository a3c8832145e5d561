// A partner of the shop: subscribes to `order.placed`, and prints what arrives. It may be away for a while.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { nodeHandler } from 'sagapost/receiver'
import { dataFolder, readCertificate } from './certificate.js'

const shop = process.env.SHOP_URL ?? 'http://127.0.0.1:3000'
const port = Number(process.env.PORT ?? 8443)
const secretFile = new URL('warehouse-secret', dataFolder)
let secret = existsSync(secretFile) ? readFileSync(secretFile, 'utf8') : ''

const seen = new Set<string>()
const handler = nodeHandler({
  secret: () => secret,
  onEvent({ id, payload }) {
    // Deliveries come at least once. A real warehouse keeps the ids in a table, with its own writes.
    if (seen.has(id)) return
    seen.add(id)
    console.log('To be packed:', JSON.stringify(payload))
  },
})

const { certificate, privateKey } = await readCertificate()
createServer({ cert: certificate, key: privateKey }, handler).listen(port, '127.0.0.1', async () => {
  if (!secret) await subscribe()
  console.log('The warehouse is ready')
})

/** Once: the shop shows the secret, and asks whether we are who we say we are. */
async function subscribe(): Promise<void> {
  const created = await post('/webhooks', { callbackUrl: `https://127.0.0.1:${port}/` })
  secret = created.secret
  writeFileSync(secretFile, secret, { mode: 0o600 })
  await post(`/webhooks/${created.id}`, {})
}

async function post(path: string, body: object): Promise<{ id: string; secret: string }> {
  const response = await fetch(shop + path, { method: 'POST', body: JSON.stringify(body) })
  const answer = (await response.json()) as { id: string; secret: string }
  if (!response.ok) throw new Error(`the shop answered ${response.status}: ${JSON.stringify(answer)}`)
  return answer
}
