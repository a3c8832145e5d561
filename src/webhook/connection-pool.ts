import { Client, type Dispatcher } from 'undici'
import { DeliveryFailure } from './delivery-errors.js'

/** Connections to any number of receivers, each with one request at a time. */
export interface ConnectionPool {
  /** Returns what gives the request up while it is under way, and its connection with it. */
  dispatch(
    request: Dispatcher.DispatchOptions & { origin: string },
    handler: Dispatcher.DispatchHandler,
  ): (failure: DeliveryFailure) => void
  /** Takes no more requests; each connection ends with the one that it has. */
  close(): void
  /** Ends all of them now. */
  destroy(): Promise<void>
}

/**
 * In the place of undici's own pool, which costs a handshake more than need be, twice: it hands the next request to the
 * first of its clients that is not busy, whether that has a connection or not; and a client whose request was aborted
 * connects again for it, to drop it then. Where an endpoint had timed out a hundred times at once, two hundred handshakes
 * held up the others. Here a client that has lost its connection, or given up its request, is gone, and the one that was
 * in use last is taken first.
 */
export function createConnectionPool(options: Client.Options): ConnectionPool {
  const clients = new Set<Client>()
  /** By origin: those that stand, with nothing to do. */
  const idle = new Map<string, Client[]>()
  let isClosed = false

  function connect(origin: string): Client {
    const client = new Client(origin, options)
    clients.add(client)
    // It has come to the end of its request, whichever that was.
    client.on('drain', () => release(origin, client))
    // A request that it has not begun to send goes out on the connection that it makes next; one without is gone.
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
    // Closed already, though nothing has told of it yet.
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
      // What it does not take is over already, and nothing will tell.
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
