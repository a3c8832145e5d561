import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MarkMoment } from '../schedule/fault.js'
import { createStatementReader } from './learn-statements.js'
import { resetSocket } from './reset-socket.js'

/** How bytes are passed on. Black hole: nothing gets through; half: requests do, answers do not. */
export type Behaviour =
  | { kind: 'pass' }
  | { kind: 'delay'; delayMs: number }
  | { kind: 'drip' }
  | { kind: 'black-hole'; half: boolean }

interface WatchedMark {
  text: string
  moment: MarkMoment
  /** Fires at the so-many-th. */
  count: number
  /** Called at that very moment; unless the answer is heard, the connection is reset afterwards. */
  onReached: () => void
}

/** All database connections of one process, on a port of their own. */
export interface Link {
  port: number
  connections(): number
  /** From now on, old connections and new ones alike. Leaving a black hole resets what was in it. */
  behave(behaviour: Behaviour): void
  /** Resets every connection. */
  cut(): void
  /** One at a time; undefined: no longer. */
  watch(mark: WatchedMark | undefined): void
  close(): Promise<void>
}

const DRIP_BYTES = 1_024
const DRIP_PAUSE_MS = 4
/** The last message of an answer: ReadyForQuery, with one byte of transaction state behind it. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

interface Connection {
  client: Socket
  server: Socket
  /** Something was swallowed: it must never go on. */
  spoilt: boolean
  /** The mark whose answer is waited for. */
  answering: WatchedMark | undefined
}

/** A small TCP proxy to wherever PostgreSQL is at the moment. `texts` are those that may be watched for. */
export async function openLink(target: () => number, texts: readonly string[] = []): Promise<Link> {
  const statements = createStatementReader(texts)
  const connections = new Set<Connection>()
  let behaviour: Behaviour = { kind: 'pass' }
  let mark: WatchedMark | undefined
  let seen = 0
  let changed = () => {}
  let change = new Promise<void>((resolve) => {
    changed = resolve
  })

  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: target(), host: '127.0.0.1', noDelay: true })
    const connection: Connection = { client, server, spoilt: false, answering: undefined }
    connections.add(connection)
    const endWith = (other: Socket) => (broken: boolean) => {
      // A side in a black hole does not learn that the other has closed.
      if (behaviour.kind === 'black-hole') {
        connection.spoilt = true
        return
      }
      connections.delete(connection)
      if (broken) resetSocket(other)
      else other.destroySoon()
    }
    client.on('error', () => {}).on('close', endWith(server))
    server.on('error', () => {}).on('close', endWith(client))
    passOn(client, server, connection, 'requests')
    passOn(server, client, connection, 'answers')
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')

  function passOn(from: Socket, to: Socket, connection: Connection, direction: 'requests' | 'answers'): void {
    let busy = false
    from.on('data', (chunk: Buffer) => {
      if (connection.spoilt && direction === 'answers') return
      if (direction === 'requests' && isMarked(chunk, connection)) return
      if (direction === 'answers' && connection.answering && isSwallowed(chunk, connection)) return
      if (behaviour.kind === 'pass' && !busy) {
        if (to.write(chunk)) return
        from.pause()
        to.once('drain', () => from.resume())
        return
      }
      busy = true
      from.pause()
      void transmit(chunk, to, connection, direction).finally(() => {
        busy = false
        from.resume()
      })
    })
    from.on('end', () => {
      if (!connection.spoilt) to.end()
    })
  }

  async function transmit(
    chunk: Buffer,
    to: Socket,
    connection: Connection,
    direction: 'requests' | 'answers',
  ): Promise<void> {
    const now = behaviour
    if (now.kind === 'black-hole' && !(now.half && direction === 'requests')) {
      connection.spoilt = true
      await change
      return drop(connection)
    }
    if (now.kind === 'delay') await Promise.race([sleep(now.delayMs), change])
    if (now.kind === 'drip') {
      for (let at = 0; at < chunk.length; at += DRIP_BYTES) {
        if (to.destroyed) return
        to.write(chunk.subarray(at, at + DRIP_BYTES))
        if (behaviour === now) await sleep(DRIP_PAUSE_MS)
      }
      return
    }
    if (!to.destroyed) to.write(chunk)
  }

  /** True when the statement must not go on its way. */
  function isMarked(chunk: Buffer, connection: Connection): boolean {
    statements.read(chunk)
    if (mark === undefined || !statements.has(chunk, mark.text)) return false
    seen += 1
    if (seen < mark.count) return false
    const reached = mark
    mark = undefined
    if (reached.moment !== 'before') {
      connection.answering = reached
      return false
    }
    reached.onReached()
    drop(connection)
    return true
  }

  /** The mark is reached with the end of the answer. */
  function isSwallowed(chunk: Buffer, connection: Connection): boolean {
    const reached = connection.answering
    const isWhole = chunk.length > READY.length && chunk.subarray(-READY.length - 1, -1).equals(READY)
    if (isWhole) {
      connection.answering = undefined
      reached?.onReached()
      if (reached?.moment === 'after') drop(connection)
    }
    return reached?.moment === 'after'
  }

  function cut(): void {
    for (const connection of connections) drop(connection)
    connections.clear()
  }

  const { port } = listener.address() as AddressInfo
  return {
    port,
    connections: () => connections.size,
    behave(next) {
      const left = behaviour
      behaviour = next
      changed()
      change = new Promise((resolve) => {
        changed = resolve
      })
      if (left.kind === 'black-hole') cut()
    },
    cut,
    watch(next) {
      mark = next
      seen = 0
    },
    async close() {
      changed()
      listener.close()
      cut()
    },
  }
}

function drop({ client, server }: Connection): void {
  for (const socket of [client, server]) resetSocket(socket)
}
