import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'
import { type EventRange, visitInTurn, type WorkWindow } from '../../database/index.js'
import { ROUND_SPACING_MS, startLoop, type Wakeups } from '../../loop/index.js'
import { logFailure, type Recorders } from '../../observability/index.js'
import type { SigningSecret, WebhookSender } from '../../webhook/index.js'
import { type BreakerPolicy, createBreakers, defaultBreakerPolicy } from '../breakers/index.js'
import { type ClaimOptions, claimJobs } from './claim-jobs.js'
import { createClaimSpacing } from './claim-spacing.js'
import { findProbes } from './find-probes.js'
import { findWaiting } from './find-waiting.js'
import { createHeldJobs } from './held-jobs.js'
import { createLostClaims } from './lost-claims.js'
import { createPassedOver, type PassedOver } from './passed-over.js'
import { createSwitches } from './switches.js'
import { createTurns } from './turns.js'

/**
 * Statements for an older range are planned each time; while the newest range is busy, they do not run with each of its
 * claims.
 */
const OLDER_EVERY_MS = 50

export interface WorkerOptions {
  /** Under the role job_worker. */
  pool: pg.Pool
  sender: WebhookSender
  /** Reads the secrets of these subscriptions; a subscription whose secrets cannot be read is absent. */
  readSecrets: (subscriptionIds: readonly string[]) => Promise<ReadonlyMap<string, readonly SigningSecret[]>>
  window: () => WorkWindow
  wakeups: Wakeups
  log: Logger
  metrics: Pick<
    Recorders,
    'jobsClaimed' | 'attemptFinished' | 'attemptRefused' | 'breakerOpened' | 'breakerClosed' | 'loopFailed'
  >
  workerId: string
  concurrency: number
  leaseMs: number
  requestTimeoutMs: number
  pollMs: () => number
  breakerPolicy?: BreakerPolicy
}

export interface Worker {
  /** Finishes the requests in flight and releases the other jobs: a clean stop repeats no request. */
  stop(): Promise<void>
}

export function startWorker(options: WorkerOptions): Worker {
  const { pool, wakeups, log, metrics, workerId, leaseMs } = options
  let isTold = true
  const deliveries = createHeldJobs({
    ...options,
    breakers: () => breakers,
    admit: (jobs, askedAtMs) => switches.admit(jobs, askedAtMs),
    isStopped: (job) => switches.isStopped(job),
    onDone: tell,
  })
  const { lanes } = deliveries
  const turns = createTurns(
    (id) => breakers.standingOf(id),
    (id) => lanes.hasRoomFor(id) && !breakers.isOpen(id),
  )
  const claims = createClaimSpacing(options.concurrency)
  const lostClaims = createLostClaims(pool, leaseMs)
  /** Keyed by the start of the range. */
  const passedOver = new Map<string, PassedOver>()
  const nextOlder = visitInTurn()
  const nextTurns = visitInTurn(1)
  let olderAtMs = 0
  /** How many older ranges to visit before the next pause, because new work was announced or found. */
  let olderLeft = 0
  /** The ranges left in the current look for waiting subscriptions, and where it continues in the first of them. */
  let look: { ranges: EventRange[]; from: Date | undefined } = { ranges: [], from: undefined }
  let isFirstRound = true
  let isOldersTurn = true
  /** How many subscriptions the last claim skipped. */
  let passedOverCount = 0

  const breakers = createBreakers({
    pool,
    window: options.window,
    policy: options.breakerPolicy ?? defaultBreakerPolicy,
    log,
    metrics,
    onOpen: deliveries.giveBackPaused,
    onClose: tell,
    roomForProbes: deliveries.roomForProbes,
    onProbe: probe,
  })
  const switches = createSwitches({ ...options, ...deliveries })

  /** Called when there may be more to claim, in older ranges as well. */
  function tell(): void {
    isTold = true
    loop.wake()
  }

  async function claimRound(): Promise<boolean> {
    if (!breakers.isKnown()) return false
    if (isFirstRound) turns.add(breakers.failing())
    isFirstRound = false
    await recoverClaims()
    await deliveries.giveBackLate()
    if (lookInMs() <= 0) await takeTurns()
    if (!claims.mayClaim(lanes.room(), performance.now())) return false
    const { fresh, older } = options.window()
    forgetPassedOver([fresh, ...older])
    if (isTold) olderLeft = older.length
    isTold = false
    // In turns: under overload, the range asked first would take all of the worker's room.
    const visited = isOldersTurn && performance.now() >= olderAtMs ? nextOlder(older) : []
    isOldersTurn = visited.length === 0
    const ranges = [...visited, fresh]
    let more = false
    let moreOlder = false
    for (const range of ranges) {
      const isFull = await claimFrom(range, passedOverIn(range))
      more ||= isFull
      moreOlder ||= isFull && range !== fresh
    }
    if (visited.length > 0) {
      olderAtMs = moreOlder ? 0 : performance.now() + OLDER_EVERY_MS
      olderLeft = moreOlder ? older.length : Math.max(0, olderLeft - visited.length)
    }
    if (!more) claims.foundFew(passedOverCount, performance.now())
    wakeups.tellBacklog(more || lanes.isBusy())
    return more
  }

  function passedOverIn({ from }: EventRange): PassedOver {
    const passed = passedOver.get(from) ?? createPassedOver()
    passedOver.set(from, passed)
    return passed
  }

  function forgetPassedOver(ranges: readonly EventRange[]): void {
    const kept = new Set(ranges.map(({ from }) => from))
    for (const from of passedOver.keys()) if (!kept.has(from)) passedOver.delete(from)
  }

  async function claimFrom(range: EventRange, passed: PassedOver, limited = true): Promise<boolean> {
    const room = lanes.room()
    if (room === 0) return false
    const askedAtMs = performance.now()
    const except = [...new Set([...lanes.full(), ...breakers.open(), ...turns.waiting(), ...switches.busy()])]
    const { freeSince, takenUp } = passed.from(except, askedAtMs)
    // A doubtful subscription that is no longer skipped may have thousands of jobs ahead of all others; one of them is
    // held.
    const doubtful = new Set(limited ? takenUp.filter((id) => breakers.standingOf(id) !== 'answering') : [])
    const batchMax = Math.min(claims.batchMax(room), doubtful.size || room)
    const claim = await claimKnown({ range, batchMax, except, freeSince })
    passed.until(claim.passedOverUntil)
    const isFull = claim.jobs.length === batchMax
    passedOverCount = except.length
    const refused = await deliveries.hold(claim.jobs, { askedAtMs, probe: false })
    turns.add(refused)
    if (claims.brought(claim.jobs.length, refused.length)) {
      // Jobs of crowded lanes would come back batch by batch, and the jobs behind them would wait for all of them.
      if (turns.mayLook(performance.now())) await takeTurns()
      return false
    }
    if (!isFull || batchMax === room) return isFull
    // Jobs left out for the crowd's sake are claimed at once, and for all the room when the crowd has nothing ahead.
    return claimFrom(
      range,
      passed,
      claim.jobs.some(({ subscriptionId }) => doubtful.has(subscriptionId)),
    )
  }

  /** Time until the next look for waiting subscriptions; while there is no room, a finished delivery wakes the loop. */
  const lookInMs = () => turns.lookInMs(performance.now(), lanes.roomForDoubtful())

  /** One look at the next waiting jobs, and one job for each subscription whose turn it is. */
  async function takeTurns(): Promise<void> {
    const askedAtMs = performance.now()
    turns.looked(askedAtMs)
    const { fresh, older } = options.window()
    const { ranges, from } =
      look.ranges.length > 0 ? look : { ranges: [...nextTurns(older), fresh], from: undefined }
    const [range = fresh, ...others] = ranges
    const { oldest, next } = await findWaiting(pool, range, from)
    await breakers.recall([...oldest.keys()])
    const only = turns.next(oldest.keys(), lanes.roomForDoubtful()).map((id) => oldest.get(id) as string)
    look = { ranges: next ? ranges : others, from: next }
    if (look.ranges.length === 0) turns.wentRound()
    await claimOnly(range, only, { askedAtMs, probe: false }, from)
  }

  async function probe(subscriptionIds: readonly string[]): Promise<void> {
    const { fresh, older } = options.window()
    let wanted = subscriptionIds
    for (const range of [...older, fresh]) {
      if (wanted.length === 0) return
      const found = await findProbes(pool, range, wanted)
      wanted = wanted.filter((id) => !found.has(id))
      await claimOnly(range, [...found.values()], { askedAtMs: performance.now(), probe: true })
    }
  }

  async function claimOnly(
    range: EventRange,
    only: readonly string[],
    how: { askedAtMs: number; probe: boolean },
    freeSince?: Date,
  ): Promise<void> {
    if (only.length === 0) return
    const { jobs } = await claimKnown({ range, batchMax: only.length, except: [], only, freeSince })
    turns.add(await deliveries.hold(jobs, how))
  }

  /** Claims under a token generated here, by which the claim is found if its answer is lost. */
  async function claimKnown(claim: Omit<ClaimOptions, 'leaseMs' | 'workerId' | 'leaseToken'>) {
    const leaseToken = randomUUID()
    try {
      return await claimJobs(pool, { ...claim, leaseMs, workerId, leaseToken })
    } catch (error) {
      lostClaims.add({ leaseToken, range: claim.range })
      throw error
    }
  }

  async function recoverClaims({ now = false } = {}): Promise<void> {
    if (!now && lostClaims.lookInMs(performance.now()) > 0) return
    const jobs = await lostClaims.giveBack()
    if (jobs > 0) log.info({ jobs }, 'the answer to a claim was lost; its jobs were released')
  }

  const loop = startLoop({
    round: claimRound,
    idleMs: () => {
      const nowMs = performance.now()
      const looks = [claims.lookInMs(lanes.room(), nowMs), lostClaims.lookInMs(nowMs), lookInMs()]
      if (olderLeft > 0 && lanes.room() > 0) looks.push(Math.max(OLDER_EVERY_MS / 2, olderAtMs - nowMs))
      return Math.min(options.pollMs(), ...looks)
    },
    spacingMs: ROUND_SPACING_MS,
    onError: (error) => {
      metrics.loopFailed('worker')
      logFailure(log, error, 'claiming jobs failed; will try again')
    },
  })
  const unsubscribe = wakeups.onWake('claims', tell)

  return {
    stop() {
      unsubscribe()
      return deliveries.stop(async () => {
        await Promise.all([loop.stop(), breakers.stop(), switches.stop()])
        await recoverClaims({ now: true }).catch((error: Error) =>
          logFailure(log, error, 'jobs could not be released; their leases will expire'),
        )
      })
    },
  }
}
