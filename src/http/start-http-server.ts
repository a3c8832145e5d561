import fastify from 'fastify'
import type { Obstacle } from '../database/index.js'
import { SagapostError } from '../errors/index.js'

export interface HttpServerOptions {
  host: string
  port: number
  checkReadiness: () => Promise<Obstacle[]>
}

export interface HttpServer {
  url: string
  stop(): Promise<void>
}

/** Health and readiness; the API grows here. Both answer without a key. */
export async function startHttpServer({
  host,
  port,
  checkReadiness,
}: HttpServerOptions): Promise<HttpServer> {
  const server = fastify({ forceCloseConnections: true })

  // Alive: the process answers. A database that is away is no reason to restart it.
  server.get('/healthz', async () => ({ status: 'ok' }))

  // Ready: send traffic here.
  server.get('/readyz', async (_request, reply) => {
    const obstacles = await checkReadiness()
    if (obstacles.length === 0) return { status: 'ready' }
    reply.code(503)
    return { status: 'not_ready', obstacles }
  })

  try {
    const url = await server.listen({ host, port })
    return { url, stop: () => server.close() }
  } catch (error) {
    await server.close()
    throw explainListenError(error, host, port)
  }
}

function explainListenError(error: unknown, host: string, port: number): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new SagapostError('config_invalid', `PORT ${port} on ${host} is in use by another program`)
    case 'EACCES':
      return new SagapostError('config_invalid', `PORT ${port} on ${host} may not be used by this user`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new SagapostError('config_invalid', `HOST ${host} is not an address of this machine`)
    default:
      return error
  }
}
