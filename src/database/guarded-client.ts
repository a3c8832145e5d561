import pg from 'pg'

/** What of a socket the driver's parser uses. */
interface Stream {
  on(name: string, listener: (...given: unknown[]) => void): unknown
  destroy(error: Error): unknown
}

/** Of the driver, without types of its own: it takes up the socket, and after TLS the one inside, by `attachListeners`. */
interface Connection {
  attachListeners(stream: Pick<Stream, 'on'>): unknown
}

/**
 * The driver parses in the socket's data event, where an error is nobody's: text beyond V8's limit of 512 MiB, or bytes
 * that are not the protocol, ended the process. Here the error ends the connection, whose statements fail with it.
 */
export class GuardedClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as { connection: Connection }
    const attach = connection.attachListeners.bind(connection)
    connection.attachListeners = (stream) => attach({ on: guard(stream as Stream) })
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
