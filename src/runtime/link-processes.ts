import type pg from 'pg'
import type { Logger } from 'pino'
import { listen } from '../database/index.js'
import { stages, type Wakeups } from '../loop/index.js'
import { createNotifier, WAKE_CHANNEL } from './notify-processes.js'

export interface LinkOptions {
  /** A direct connection for LISTEN. */
  listenUrl: string
  /** Sends the notifications, each in a small transaction of its own. */
  pool: pg.Pool
  wakeups: Wakeups
  log: Logger
  onLost: () => void
  /** Whether the whole database is known to be away. */
  isAway: () => boolean
}

/** By then the listening connection is normally open again, and a database that is away is known to be. */
const TELL_AFTER_MS = 3_000

export interface ProcessLink {
  isListening(): boolean
  stop(): Promise<void>
}

/** Passes this process's wake-ups to the other processes on the database, and theirs to the parts of this one. */
export function linkProcesses({ listenUrl, pool, wakeups, log, onLost, isAway }: LinkOptions): ProcessLink {
  const notifier = createNotifier({ pool, log })
  wakeups.passOnTo(notifier.send)

  let hasListened = false
  let lost: NodeJS.Timeout | undefined
  const listener = listen({
    databaseUrl: listenUrl,
    channel: WAKE_CHANNEL,
    onNotification: (payload) => {
      const [signal, from] = payload.split(' ')
      if (from === notifier.sender) return
      const stage = stages.find((each) => each === signal)
      if (stage) wakeups.wakeHere(stage)
      else if (signal === 'backlog') wakeups.hearBacklog()
    },
    onListening: () => {
      hasListened = true
      for (const stage of stages) wakeups.wakeHere(stage)
    },
    onLost: (error) => {
      onLost()
      const tell = () =>
        log.warn({ err: error }, 'not listening for wake-ups; polling until the connection is restored')
      // The database answered a moment ago: only the listening connection fails.
      if (!hasListened) return tell()
      // While the whole database is away, its watch logs it. Log this when the database is back and this connection is
      // not.
      const look = () => {
        if (listener.isListening()) return
        if (isAway()) wait()
        else tell()
      }
      const wait = () => {
        lost = setTimeout(look, TELL_AFTER_MS).unref()
      }
      clearTimeout(lost)
      wait()
    },
  })

  return {
    isListening: listener.isListening,
    async stop() {
      wakeups.passOnTo(() => {})
      notifier.stop()
      clearTimeout(lost)
      await listener.stop()
    },
  }
}
