import type { Socket } from 'node:net'
import pg from 'pg'
import { connectionDefaults, withSettings } from './connect.js'
import { GuardedClient } from './guarded-client.js'

const RETRY_MS = 1_000
const ANSWER_MS_MAX = 10_000
const KEEP_ALIVE_MS = 10_000
/** A server that does not answer does not say goodbye either. */
const GOODBYE_MS_MAX = 1_000

export interface ListenOptions {
  /** A direct connection: a pooler in transaction mode passes no notifications on. */
  databaseUrl: string
  channel: string
  onNotification: (payload: string) => void
  /** Listening (again): what was sent meanwhile is lost. */
  onListening: () => void
  /** Told once per loss, not once per try. */
  onLost: (error: Error) => void
}

export interface Listener {
  isListening(): boolean
  stop(): Promise<void>
}

/** Keeps one connection that listens, under the role that may least of all. A lost one is made again. */
export function listen(options: ListenOptions): Listener {
  const { databaseUrl, channel, onNotification, onListening, onLost } = options
  let client: pg.Client | undefined
  let listening = false
  let told = false
  let stopped = false
  let retry: NodeJS.Timeout | undefined
  let connecting: Promise<void> = Promise.resolve()

  async function open(): Promise<void> {
    let opened: pg.Client
    try {
      opened = new GuardedClient({
        ...connectionDefaults,
        connectionString: withSettings(databaseUrl, 'sagapost listen', { role: 'saga_readonly_role' }),
        query_timeout: ANSWER_MS_MAX,
        // A peer that is gone without a word is noticed; nothing else is ever sent on this connection.
        keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      })
    } catch (error) {
      // A certificate that the URL names is being replaced: it cannot be read right now.
      lost(undefined, error as Error)
      return
    }
    client = opened
    opened.on('notification', ({ payload = '' }) => onNotification(payload))
    opened.on('error', (error) => lost(opened, error))
    opened.on('end', () => lost(opened, new Error('the connection ended')))
    try {
      await opened.connect()
      await opened.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
      listening = true
      told = false
      onListening()
    } catch (error) {
      lost(opened, error as Error)
      await opened.end().catch(() => {})
    }
  }

  function lost(which: pg.Client | undefined, error: Error): void {
    if (which !== client || stopped) return
    client = undefined
    listening = false
    if (!told) onLost(error)
    told = true
    retry = setTimeout(() => {
      connecting = open()
    }, RETRY_MS)
  }

  // Not before the caller has the listener: the first thing it hears may be that there is none.
  connecting = Promise.resolve().then(open)
  return {
    isListening: () => listening,
    async stop() {
      stopped = true
      clearTimeout(retry)
      await Promise.race([
        connecting.then(() => client?.end().catch(() => {})),
        new Promise((resolve) => setTimeout(resolve, GOODBYE_MS_MAX).unref()),
      ])
      ;(client as unknown as { connection?: { stream: Socket } } | undefined)?.connection?.stream.destroy()
    },
  }
}
