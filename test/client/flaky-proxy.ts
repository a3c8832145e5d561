import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface FlakyProxy {
  url: string
  /** How many requests went through to the server, so far. */
  forwarded(): number
  stop(): Promise<void>
}

/**
 * Stands between a client and the server. The first `breaks` requests reach the server and are answered by it, but the
 * connection to the client is reset instead of carrying the answer: to the client it is unknown what happened.
 */
export async function startFlakyProxy(target: string, breaks: number): Promise<FlakyProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let forwarded = 0
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    client.pipe(upstream)
    upstream.on('data', (answer) => {
      forwarded += 1
      if (forwarded > breaks) return client.write(answer)
      upstream.destroy()
      return client.resetAndDestroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${address.port}`,
    forwarded: () => forwarded,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
