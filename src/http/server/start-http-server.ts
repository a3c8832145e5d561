import { SagapostError } from '../../errors/index.js'
import type { Api } from '../api.js'

export interface HttpServer {
  url: string
  /** Not ready any more, and each answer ends its connection; everything is still served. */
  drain(): void
  /** No new connections; requests that are under way are answered, for at most so long. */
  stop(requestsMsMax?: number): Promise<void>
  /** Gives up what `stop` waits for. */
  abandon(): Promise<void>
  isStopped(): boolean
}

/** The server without what it stands on. */
export type ListeningServer = Omit<HttpServer, 'abandon' | 'isStopped'>

/** A request that takes longer than this to end is cut off, so that the process can. */
const REQUESTS_MS_MAX = 15_000

/** The server, listening. Its pools belong to the caller, who ends them after the server. */
export async function startHttpServer(
  server: Api,
  { host, port }: { host: string; port: number },
  drain: () => void,
): Promise<ListeningServer> {
  try {
    const url = await server.listen({ host, port })
    return {
      url,
      drain() {
        drain()
        server.isStopping = true
      },
      async stop(requestsMsMax = REQUESTS_MS_MAX) {
        const deadline = setTimeout(() => server.server.closeAllConnections(), requestsMsMax)
        await server.close().finally(() => clearTimeout(deadline))
      },
    }
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
