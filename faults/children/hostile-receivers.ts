/** Endpoints that mean no good, by the first part of their path: /hang, /drip, /flood, /reset. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { drip, flood } from '../system/start-receiver.js'

const [certificateFile = '', keyFile = ''] = process.argv.slice(2)
const server = createServer(
  { cert: readFileSync(certificateFile), key: readFileSync(keyFile) },
  (request, response) => {
    const chunks: Buffer[] = []
    request.on('error', () => {}).on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', () => {})
    request.on('end', () => {
      if (String(request.headers['webhook-id']).startsWith('ver_')) {
        response.end(JSON.stringify({ challenge: JSON.parse(Buffer.concat(chunks).toString()).challenge }))
        return
      }
      requests += 1
      const [, way] = (request.url ?? '').split('/')
      if (way === 'drip') drip(response)
      else if (way === 'flood') flood(response)
      else if (way === 'reset') response.socket?.destroy()
    })
  },
)
let requests = 0
server.on('tlsClientError', () => {})
server.on('connection', (socket) => socket.on('error', () => {}))
process.on('message', () => process.send?.({ requests }))
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.({ port: (server.address() as AddressInfo).port })
