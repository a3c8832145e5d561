import type { Socket } from 'node:net'
import pg from 'pg'
import { connectionDefaults, withSettings } from './connect.js'
import { GuardedClient } from './guarded-client.js'

const RETRY_MS = 1_000
const ANSWER_MS_MAX = 10_000
const KEEP_ALIVE_MS = 10_000
/** A server that does not answer does not close the connection either. */
const GOODBYE_MS_MAX = 1_000

export interface ListenOptions {
  /** Must be a direct connection: a pooler in transaction mode does not pass notifications on. */
  databaseUrl: string
  channel: string
  onNotification: (payload: string) => void
  /** Called when it listens, also after a reconnect: notifications sent in between are lost. */
  onListening: () => void
  /** Called once per loss, not once per retry. */
  onLost: (error: Error) => void
}

export interface Listener {
  isListening(): boolean
  stop(): Promise<void>
}

/** Keeps one listening connection, under the role with the fewest rights, and reconnects when it is lost. */
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
        // Detects a peer that vanished silently; nothing else is ever sent on this connection.
        keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      })
    } catch (error) {
      // A certificate that the URL names is being replaced and cannot be read right now.
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

  // After the caller has the listener: the first event may be a failed connection.
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
