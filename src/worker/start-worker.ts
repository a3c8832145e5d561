import type pg from 'pg'
import type { Logger } from 'pino'
import type { EventRange, WorkWindow } from '../database/index.js'
import type { SigningSecret, WebhookOutcome, WebhookSender } from '../https/index.js'
import { ROUND_SPACING_MS, startLoop, type Wakeups } from '../loop/index.js'
import { logFields, type Recorders } from '../observability/index.js'
import { createReportBatcher } from './batch-reports.js'
import { benchDoubtful } from './bench-doubtful.js'
import { type ClaimedJob, claimJobs } from './claim-jobs.js'
import { findProbes } from './find-probes.js'
import { findWaiting } from './find-waiting.js'
import { keepBreakers } from './keep-breakers.js'
import { createLanes } from './lanes.js'
import { createLargePayloads } from './large-payloads.js'
import { type BreakerPolicy, defaultBreakerPolicy } from './note-outcomes.js'
import { paceStarts } from './pace-starts.js'
import { releaseJobs } from './release-jobs.js'
import { rememberPassedOver } from './remember-passed-over.js'
import { reportWhileLeased } from './report-while-leased.js'
import { spaceClaims } from './space-claims.js'
import { toReport, toRequest } from './translate-job.js'

/** A job is begun only while its lease has time for the whole exchange and this much for the report. */
const REPORT_MS = 2_000
/**
 * Between two requests to doubtful endpoints. Each of them costs a connection and its handshake, some milliseconds of
 * this process in which no answer is read: one by one, the others' answers and claims come in between.
 */
const DOUBTFUL_EVERY_MS = 4

export interface WorkerOptions {
  /** Under the role job_worker. */
  pool: pg.Pool
  sender: WebhookSender
  /** The secrets of these subscriptions; one whose secrets cannot be read is absent. */
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
  /** Finishes what is being sent, gives back what was not begun: a clean stop repeats nothing. */
  stop(): Promise<void>
}

interface HeldJob extends ClaimedJob {
  secrets: readonly SigningSecret[]
  /** By this process's clock, on the safe side. */
  leaseEndsMs: number
  /** The one delivery that tries a paused endpoint. */
  probe: boolean
}

const notSent = (errorCode: 'secret_unreadable' | 'payload_too_large'): WebhookOutcome => ({
  delivered: false,
  errorCode,
  durationMs: 0,
})

export function startWorker(options: WorkerOptions): Worker {
  const { pool, sender, wakeups, log, metrics, workerId, leaseMs } = options
  const isDoubtful = (subscriptionId: string) => breakers.isDoubtful(subscriptionId)
  const lanes = createLanes<HeldJob>(options.concurrency, isDoubtful)
  const bench = benchDoubtful<HeldJob>(lanes, isDoubtful)
  const claims = spaceClaims(options.concurrency)
  const doubtfulPace = paceStarts(DOUBTFUL_EVERY_MS, () => pump())
  const sending = new Set<Promise<void>>()
  const returned = new Set<Promise<void>>()
  const largePayloads = createLargePayloads(pool)
  const reports = createReportBatcher(pool, () => wakeups.wake('results'))
  const passedOver = { fresh: rememberPassedOver(), older: rememberPassedOver() }
  let isOldersTurn = false
  let stopping = false

  const breakers = keepBreakers({
    pool,
    policy: options.breakerPolicy ?? defaultBreakerPolicy,
    log,
    metrics,
    onOpen: () => void giveBack(lanes.withdraw((job) => !job.probe && breakers.isOpen(job.subscriptionId))),
    onClose: () => loop.wake(),
    onProbe: probe,
  })

  async function claimRound(): Promise<boolean> {
    if (!breakers.isKnown()) return false
    await giveBack(lanes.withdraw(isLate))
    if (!claims.mayClaim(lanes.room(), performance.now())) return false
    const { fresh, older } = options.window()
    const ranges = [{ range: fresh, passed: passedOver.fresh }]
    if (older) ranges.push({ range: older, passed: passedOver.older })
    // In turns: with more to do than it can, a worker's room is taken by whoever is asked first.
    if (isOldersTurn) ranges.reverse()
    isOldersTurn = !isOldersTurn
    let more = false
    for (const { range, passed } of ranges) more = (await claimFrom(range, passed)) || more
    wakeups.tellBacklog(more)
    return more
  }

  async function claimFrom(
    range: EventRange,
    passed: typeof passedOver.fresh,
    limited = true,
  ): Promise<boolean> {
    const room = lanes.room()
    if (room === 0) return false
    const askedAtMs = performance.now()
    const failing = lanes.roomForDoubtful() === 0 ? breakers.failing() : []
    const except = [
      ...new Set([...lanes.full(), ...breakers.open(), ...failing, ...bench.benched(askedAtMs)]),
    ]
    const { freeSince, takenUp } = passed.from(except, askedAtMs)
    // One that hangs may have thousands waiting, ahead of everybody's: beyond its room they would only go back.
    const doubtful = new Set(limited ? takenUp.filter(isDoubtful) : [])
    let batchMax = room
    for (const id of doubtful) batchMax = Math.max(1, Math.min(batchMax, lanes.roomFor(id)))
    const claim = await claimJobs(pool, { range, batchMax, leaseMs, workerId, except, freeSince })
    passed.until(claim.passedOverUntil)
    const refused = await hold(claim.jobs, { askedAtMs, probe: false })
    void giveBack(refused)
    // A crowd would come batch by batch, and whoever stands behind it would wait for all of it.
    const isCrowd = refused.length > 0 && refused.length * 2 >= claim.jobs.length
    if (isCrowd && lanes.roomForDoubtful() === 0) bench.passOver(await findWaiting(pool, range))
    if (claim.jobs.length < batchMax || batchMax === room) return claim.jobs.length === batchMax
    // What was left out for its sake comes at once; for as much as there is room when it has nothing ahead of the others.
    return claimFrom(
      range,
      passed,
      claim.jobs.some(({ subscriptionId }) => doubtful.has(subscriptionId)),
    )
  }

  async function probe(subscriptionIds: readonly string[]): Promise<void> {
    const { fresh, older } = options.window()
    let wanted = subscriptionIds
    for (const range of older ? [older, fresh] : [fresh]) {
      const found = await findProbes(pool, range, wanted)
      wanted = wanted.filter((id) => !found.has(id))
      const only = [...found.values()]
      const askedAtMs = performance.now()
      const claim = { range, batchMax: only.length, leaseMs, workerId, except: [], only }
      const { jobs } = only.length > 0 ? await claimJobs(pool, claim) : { jobs: [] }
      await hold(jobs, { askedAtMs, probe: true })
    }
  }

  /** Those that are not worth holding come back: they are to be given back. */
  async function hold(
    jobs: readonly ClaimedJob[],
    { askedAtMs, probe }: { askedAtMs: number; probe: boolean },
  ): Promise<HeldJob[]> {
    if (jobs.length === 0) return []
    metrics.jobsClaimed(jobs.length)
    const leaseEndsMs = askedAtMs + leaseMs
    const ids = [...new Set(jobs.map(({ subscriptionId }) => subscriptionId))]
    const secrets = await options.readSecrets(ids).catch(async (error: Error) => {
      await giveBack(jobs)
      throw error
    })
    const held = jobs.map((job) =>
      Object.assign(job, { secrets: secrets.get(job.subscriptionId) ?? [], leaseEndsMs, probe }),
    )
    if (probe) for (const job of held) lanes.add(job)
    const refused = probe ? [] : bench.add(held)
    pump()
    return refused
  }

  function pump(): void {
    const late: HeldJob[] = []
    const next = () => (stopping ? undefined : lanes.next({ doubtful: doubtfulPace.mayBegin() }))
    for (let job = next(); job !== undefined; job = next()) {
      if (isDoubtful(job.subscriptionId)) doubtfulPace.begun()
      if (isLate(job)) {
        lanes.done(job.subscriptionId)
        late.push(job)
      } else begin(job)
    }
    // In one statement: when everything is slow, one for each would hold up the next claim until that is late as a whole.
    if (late.length > 0) void giveBack(late)
  }

  function begin(job: HeldJob): void {
    const work = deliver(job)
      .catch((error: Error) => log.error({ err: error, ...fieldsOf(job) }, 'delivery was not reported'))
      .finally(() => {
        sending.delete(work)
        lanes.done(job.subscriptionId)
        pump()
        loop.wake()
      })
    sending.add(work)
  }

  /** Null: its lease is too short by now, or the worker stops; nothing was sent. */
  async function attempt(job: HeldJob): Promise<WebhookOutcome | null> {
    if (job.secrets.length === 0) return notSent('secret_unreadable')
    if (job.payload !== null) return sender.send(toRequest(job, job.payload, job.secrets))
    return largePayloads.with(job.eventId, async (payload) => {
      if (payload === null) return notSent('payload_too_large')
      return stopping || isLate(job) ? null : sender.send(toRequest(job, payload, job.secrets))
    })
  }

  async function deliver(job: HeldJob): Promise<void> {
    const outcome = await attempt(job)
    if (outcome === null) return giveBack([job])
    const errorCode = outcome.delivered ? null : outcome.errorCode
    metrics.attemptFinished({ delivered: outcome.delivered, errorCode, durationMs: outcome.durationMs })
    if (errorCode !== 'payload_too_large') breakers.note(job.subscriptionId, errorCode)
    if (job.probe) breakers.wake()
    // A paused endpoint that is still dead: the delivery keeps its attempt. Gone for good is an answer, though.
    if (job.probe && errorCode !== null && errorCode !== 'http_410' && errorCode !== 'payload_too_large') {
      log.info(attemptOf(job, outcome), 'endpoint is still failing; its breaker stays open')
      await giveBack([job], { probed: true })
      return
    }
    const accepted = await reportWhileLeased(reports, toReport(job, outcome), job.leaseEndsMs)
    if (!accepted) {
      metrics.attemptRefused()
      log.warn(attemptOf(job, outcome), 'lease was lost; the result was refused')
      return
    }
    if (log.isLevelEnabled('info')) {
      log.info(attemptOf(job, outcome), errorCode === null ? 'delivered' : 'not delivered')
    }
  }

  /** It waited so long for a slot that its lease might end before its report: another turn, another lease. */
  const isLate = ({ leaseEndsMs }: HeldJob) =>
    leaseEndsMs - options.requestTimeoutMs - REPORT_MS < performance.now()

  /** Never fails; `stop` waits for it. */
  function giveBack(jobs: readonly ClaimedJob[], how?: { probed: boolean }): Promise<void> {
    const returning = releaseJobs(pool, jobs, how)
      .catch((error: Error) =>
        log.error({ err: error }, 'jobs could not be given back; their leases will run out'),
      )
      .finally(() => returned.delete(returning))
    returned.add(returning)
    return returning
  }

  // [J11, O5]
  const fieldsOf = (job: ClaimedJob) =>
    logFields({ ...job, jobId: job.id, workerId, leaseExpiration: job.leaseUntil })

  const attemptOf = (job: ClaimedJob, outcome: WebhookOutcome) => ({
    ...fieldsOf(job),
    duration_ms: outcome.durationMs,
    response_status: outcome.responseStatus,
    ...(!outcome.delivered && { error_code: outcome.errorCode }),
  })

  const loop = startLoop({
    round: claimRound,
    idleMs: () =>
      Math.min(options.pollMs(), bench.lookInMs(), claims.lookInMs(lanes.room(), performance.now())),
    spacingMs: ROUND_SPACING_MS,
    onError: (error) => {
      metrics.loopFailed('worker')
      log.error({ err: error }, 'claiming jobs failed; will try again')
    },
  })
  const unsubscribe = wakeups.onWake('claims', loop.wake)

  return {
    async stop() {
      stopping = true
      doubtfulPace.stop()
      unsubscribe()
      await Promise.all([loop.stop(), breakers.stop()])
      await giveBack(lanes.withdraw(() => true))
      while (sending.size > 0) await Promise.all(sending)
      await Promise.all(returned)
    },
  }
}
