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
}

export interface ProcessLink {
  isListening(): boolean
  stop(): Promise<void>
}

/** Passes wake-ups on to the other processes on this database, and theirs to the parts of this one. */
export function linkProcesses({ listenUrl, pool, wakeups, log, onLost }: LinkOptions): ProcessLink {
  const notifier = createNotifier({ pool, log })
  wakeups.passOnTo(notifier.send)

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
      for (const stage of stages) wakeups.wakeHere(stage)
    },
    onLost: (error) => {
      onLost()
      log.warn({ err: error }, 'not listening for wake-ups; polling until it works again')
    },
  })

  return {
    isListening: listener.isListening,
    async stop() {
      wakeups.passOnTo(() => {})
      notifier.stop()
      await listener.stop()
    },
  }
}
