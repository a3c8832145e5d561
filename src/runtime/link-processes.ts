import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'
import { listen } from '../database/index.js'
import { type Stage, stages, type Wakeups } from '../loop/index.js'

const CHANNEL = 'sagapost_wake'
/** NOTIFY takes a global lock at commit: at most one in this time for each stage. */
const NOTIFY_EVERY_MS = 20

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

const notify = 'SELECT pg_notify($1, $2)'

/** Passes wake-ups on to the other processes on this database, and theirs to the parts of this one. */
export function linkProcesses({ listenUrl, pool, wakeups, log, onLost }: LinkOptions): ProcessLink {
  const sender = randomBytes(6).toString('hex')
  const pending = new Map<Stage, NodeJS.Timeout>()
  const again = new Set<Stage>()

  const send = (stage: Stage) => {
    // The leading one goes at once; those that follow within the interval go together at its end.
    if (pending.has(stage)) {
      again.add(stage)
      return
    }
    pending.set(
      stage,
      setTimeout(() => {
        pending.delete(stage)
        if (again.delete(stage)) send(stage)
      }, NOTIFY_EVERY_MS),
    )
    pool
      .query(notify, [CHANNEL, `${stage} ${sender}`])
      .catch((error: Error) =>
        log.debug({ err: error, stage }, 'a wake-up was not sent; polling finds the work'),
      )
  }
  wakeups.passOnTo(send)

  const listener = listen({
    databaseUrl: listenUrl,
    channel: CHANNEL,
    onNotification: (payload) => {
      const [stage, from] = payload.split(' ')
      const known = stages.find((each) => each === stage)
      if (known && from !== sender) wakeups.wakeHere(known)
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
      for (const timer of pending.values()) clearTimeout(timer)
      await listener.stop()
    },
  }
}
