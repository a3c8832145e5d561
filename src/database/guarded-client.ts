import type { Socket } from 'node:net'
import pg from 'pg'

/** A server that does not answer does not close the connection either. */
const GOODBYE_MS_MAX = 1_000

/** The part of a socket that the driver's parser uses. */
interface Stream {
  on(name: string, listener: (...given: unknown[]) => void): unknown
  destroy(error: Error): unknown
}

/** The driver's connection, which has no types: `attachListeners` takes the socket and, after TLS, the inner one. */
interface Connection {
  attachListeners(stream: Pick<Stream, 'on'>): unknown
}

/**
 * The driver parses in the socket's data event, where an error has no caller: text beyond V8's limit of 512 MiB, or
 * bytes that are not the protocol, ended the process. Here the error ends the connection, and its statements fail with
 * it. Ending a connection takes at most a second.
 */
export class GuardedClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as { connection: Connection }
    const attach = connection.attachListeners.bind(connection)
    connection.attachListeners = (stream) => attach({ on: guard(stream as Stream) })
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg.Client's own overloads
  override end(callback?: any): any {
    const { connection } = this as unknown as { connection: { stream: Socket } }
    const timer = setTimeout(() => connection.stream.destroy(), GOODBYE_MS_MAX).unref()
    this.once('end', () => clearTimeout(timer))
    return callback ? super.end(callback) : super.end()
  }
}

function guard(stream: Stream): Stream['on'] {
  return (name, listener) => {
    if (name !== 'data') return stream.on(name, listener)
    let isBroken = false
    return stream.on(name, (bytes) => {
      if (isBroken) return
      try {
        listener(bytes)
      } catch (error) {
        isBroken = true
        stream.destroy(error as Error)
      }
    })
  }
}
