import { Client, type Dispatcher } from 'undici'
import { DeliveryFailure } from './delivery-errors.js'

/** Connections to any number of receivers, each with one request at a time. */
export interface ConnectionPool {
  /** Returns a function that aborts the request while it is in flight, together with its connection. */
  dispatch(
    request: Dispatcher.DispatchOptions & { origin: string },
    handler: Dispatcher.DispatchHandler,
  ): (failure: DeliveryFailure) => void
  /** Accepts no more requests; each connection closes after its present one. */
  close(): void
  /** Ends all connections now. */
  destroy(): Promise<void>
}

/**
 * Replaces undici's own pool, which costs two handshakes for each request that times out
 * (docs/internals/decisions.md#breakers-lanes-and-wake-ups). A client that has lost its connection, or given up its
 * request, is dropped, and the one that was in use last is taken first.
 */
export function createConnectionPool(options: Client.Options): ConnectionPool {
  const clients = new Set<Client>()
  /** Idle open connections, by origin. */
  const idle = new Map<string, Client[]>()
  let isClosed = false

  function connect(origin: string): Client {
    const client = new Client(origin, options)
    clients.add(client)
    // The client has finished its request, whichever that was.
    client.on('drain', () => release(origin, client))
    // A disconnected client would send a request not yet started on its next connection; a client without one is
    // removed.
    client.on('disconnect', () => {
      const standing = idle.get(origin) ?? []
      const others = standing.filter((other) => other !== client)
      if (others.length === standing.length) return
      if (others.length > 0) idle.set(origin, others)
      else idle.delete(origin)
      drop(client)
    })
    return client
  }

  function takeIdle(origin: string): Client | undefined {
    const standing = idle.get(origin)
    let client = standing?.pop()
    // Already closed, though no event has reported it yet.
    while (client && !client.stats.connected) {
      drop(client)
      client = standing?.pop()
    }
    if (standing?.length === 0) idle.delete(origin)
    return client
  }

  function release(origin: string, client: Client): void {
    const standing = idle.get(origin)
    if (isClosed || !client.stats.connected) drop(client)
    else if (standing) standing.push(client)
    else idle.set(origin, [client])
  }

  function drop(client: Client, failure: DeliveryFailure | null = null): void {
    clients.delete(client)
    void client.destroy(failure)
  }

  return {
    dispatch(request, handler) {
      if (isClosed) throw new DeliveryFailure('aborted')
      const { origin } = request
      const client = takeIdle(origin) ?? connect(origin)
      client.dispatch(request, handler)
      // A request that the client does not take has already failed, and no event follows.
      if (client.stats.size === 0) release(origin, client)
      return (failure) => drop(client, failure)
    },
    close() {
      isClosed = true
      for (const client of [...idle.values()].flat()) drop(client)
      idle.clear()
    },
    async destroy() {
      isClosed = true
      idle.clear()
      await Promise.all([...clients].map((client) => client.destroy()))
      clients.clear()
    },
  }
}
