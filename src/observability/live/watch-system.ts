import type pg from 'pg'
import { type Loop, startLoop } from '../../loop/index.js'
import { createBacklogCollector, type StageBacklog } from '../backlog/index.js'
import { readRecent } from '../statistics/index.js'
import { type Attention, listAttention } from './list-attention.js'
import { createRateMeter, type Rates } from './rate-meter.js'

/** The interval between snapshots. */
const LOOK_EVERY_MS = 2_000
/** The backlogs and what needs attention cost more, and change more slowly. */
const DEEP_LOOK_EVERY_MS = 5_000

export interface Snapshot extends Rates {
  at: string
  /** Null when the database did not respond in time. */
  stages: readonly StageBacklog[] | null
  attention: readonly Attention[]
}

const unanswered: Attention = {
  kind: 'database',
  severity: 'failing',
  text: 'The database does not respond',
  subject: null,
}

export interface SystemWatch {
  /** Called with every snapshot from now on, and soon with the first. Returns how to end it. */
  follow(viewer: (snapshot: Snapshot) => void): () => void
  viewers(): number
  stop(): Promise<void>
}

/**
 * Reads the state of the system for all viewers with one set of statements, and not at all without viewers. Under the
 * role saga_readonly_role.
 */
export function watchSystem(
  pool: pg.Pool,
  { onError, lookEveryMs = LOOK_EVERY_MS }: { onError: (error: Error) => void; lookEveryMs?: number },
): SystemWatch {
  const viewers = new Set<(snapshot: Snapshot) => void>()
  const backlog = createBacklogCollector(pool, { cacheMs: DEEP_LOOK_EVERY_MS })
  const meter = createRateMeter()
  let latest: Snapshot | undefined
  let deep: Pick<Snapshot, 'stages' | 'attention'> = { stages: null, attention: [] }
  let deepAtMs = Number.NEGATIVE_INFINITY
  let loop: Loop | undefined
  let ending: Promise<void> = Promise.resolve()

  async function look(): Promise<boolean> {
    meter.add(await readRecent(pool))
    if (performance.now() - deepAtMs >= DEEP_LOOK_EVERY_MS) {
      const stages = await backlog.collect()
      deep = { stages, attention: await listAttention(pool, stages ?? []) }
      deepAtMs = performance.now()
    }
    tell(deep)
    return false
  }

  function tell(rest: Pick<Snapshot, 'stages' | 'attention'>): void {
    latest = { at: new Date().toISOString(), ...meter.read(), ...rest }
    for (const viewer of viewers) viewer(latest)
  }

  function tellFailure(error: Error): void {
    onError(error)
    tell({ stages: null, attention: [unanswered] })
  }

  function end(): void {
    const ended = loop
    loop = undefined
    latest = undefined
    meter.forget()
    deepAtMs = Number.NEGATIVE_INFINITY
    ending = Promise.all([ending, ended?.stop()]).then(() => {})
  }

  return {
    follow(viewer) {
      viewers.add(viewer)
      if (latest) viewer(latest)
      loop ??= startLoop({ round: look, idleMs: lookEveryMs, onError: tellFailure })
      return () => {
        if (viewers.delete(viewer) && viewers.size === 0) end()
      }
    },
    viewers: () => viewers.size,
    async stop() {
      viewers.clear()
      end()
      await ending
    },
  }
}
