import { SagapostError } from '../../errors/index.js'
import type { Api } from '../api.js'

export interface HttpServer {
  url: string
  /** Reports not ready and closes each connection after its response; requests are still served. */
  drain(): void
  /** Accepts no new connections and finishes requests in flight, within the time limit. */
  stop(requestsMsMax?: number): Promise<void>
  /** Abandons the requests that `stop` waits for. */
  abandon(): Promise<void>
  isStopped(): boolean
}

/** The server without its pools. */
export type ListeningServer = Omit<HttpServer, 'abandon' | 'isStopped'>

/** Requests that take longer are aborted during the stop, so that the process can exit. */
const REQUESTS_MS_MAX = 15_000

/** Starts listening. The caller owns the pools and closes them after the server. */
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
