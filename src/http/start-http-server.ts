import { SagapostError } from '../errors/index.js'
import type { Api } from './api.js'

export interface HttpServer {
  url: string
  /** No new connections; requests that are under way are answered, for at most `STOP_MS_MAX`. */
  stop(): Promise<void>
}

/** A request that takes longer than this to end is cut off, so that the process can. */
const STOP_MS_MAX = 15_000

/** The server, listening. Its pools belong to the caller, who ends them after the server. */
export async function startHttpServer(
  server: Api,
  { host, port }: { host: string; port: number },
): Promise<HttpServer> {
  try {
    const url = await server.listen({ host, port })
    return {
      url,
      async stop() {
        const deadline = setTimeout(() => server.server.closeAllConnections(), STOP_MS_MAX)
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
