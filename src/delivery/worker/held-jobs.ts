import { isPoolEnded, outageOf } from '../../database/index.js'
import { logFailure, logFields } from '../../observability/index.js'
import type { SigningSecret, WebhookOutcome } from '../../webhook/index.js'
import type { Breakers } from '../breakers/index.js'
import type { ClaimedJob } from './claim-jobs.js'
import { createFirstTries } from './first-tries.js'
import { createLanes, type Lanes } from './lanes.js'
import { createLargePayloads } from './large-payloads.js'
import { releaseJobs } from './release-jobs.js'
import { createReportBatcher } from './report-batcher.js'
import { repeatUntil, reportWhileLeased } from './report-while-leased.js'
import { createRequestPace } from './request-pace.js'
import type { WorkerOptions } from './start-worker.js'
import { toReport, toRequest } from './translate-job.js'

/** A job starts only while its lease leaves time for the whole exchange and this much for the report. */
const REPORT_MS = 2_000
/** The share of all slots that first requests to untried endpoints may take: as much as one known endpoint. */
const FIRST_TRIES_SHARE = 0.5
/**
 * Pause between requests to failing endpoints while others answer. Each request costs a connection and a handshake,
 * some milliseconds in which this process reads no answer. The pause also spreads hundreds of failing endpoints over
 * the time-out, so that they are not retried all at once.
 */
const AFTER_FAILING_MS = 20
/** Probes of paused endpoints have their own slots: this many per regular slot, up to PROBE_SLOTS_MAX. */
const PROBE_FACTOR = 2
const PROBE_SLOTS_MAX = 100
const LOOK_FOR_SILENT_EVERY_MS = 500
/** A failed release is retried while its lease lasts; after a stop, no longer than this. */
const GIVE_BACK_AFTER_STOP_MS = 5_000

export interface HeldJob extends ClaimedJob {
  secrets: readonly SigningSecret[]
  /** By this process's clock, with a safety margin. */
  leaseEndsMs: number
  /** The delivery that probes a paused endpoint. */
  probe: boolean
  /** The request has started: the job is now reported, or its lease expires. */
  isSent: boolean
}

const notSent = (errorCode: 'secret_unreadable' | 'payload_too_large'): WebhookOutcome => ({
  delivered: false,
  errorCode,
  durationMs: 0,
})

/** The jobs that a worker holds, from claim to report. */
export interface HeldJobs {
  lanes: Pick<Lanes<HeldJob>, 'isBusy' | 'room' | 'full' | 'roomForDoubtful' | 'hasRoomFor'>
  roomForProbes(): number
  /** Takes the jobs of a claim made at this time. Returns the subscriptions of the jobs that it releases. */
  hold(jobs: readonly ClaimedJob[], claim: { askedAtMs: number; probe: boolean }): Promise<string[]>
  /** Releases jobs that wait for a slot and whose lease is nearly over. */
  giveBackLate(): Promise<void>
  /** Releases jobs that wait for a slot and whose endpoint is paused. */
  giveBackPaused(): void
  /** Removes the queued jobs that `unwanted` selects, and returns them. */
  withdraw(unwanted: (job: HeldJob) => boolean): HeldJob[]
  /** Releases jobs. Never fails; `stop` waits for it. */
  giveBack(jobs: readonly HeldJob[]): Promise<void>
  /** Finishes the requests in flight and releases the other jobs. `beforeEnd` is awaited in between. */
  stop(beforeEnd: () => Promise<void>): Promise<void>
}

export function createHeldJobs(
  options: WorkerOptions & {
    breakers: () => Breakers
    /** Returns the jobs of a claim that are to be sent, and puts the others aside. */
    admit: (jobs: readonly HeldJob[], askedAtMs: number) => readonly HeldJob[]
    /** Whether the job is known to be stopped by now. */
    isStopped: (job: HeldJob) => boolean
    onDone: () => void
  },
): HeldJobs {
  const { pool, window, sender, wakeups, log, metrics, workerId, leaseMs, concurrency } = options
  const standingOf = (subscriptionId: string) => options.breakers().standingOf(subscriptionId)
  const lanes = createLanes<HeldJob>(concurrency, standingOf)
  const firstTries = createFirstTries(Math.ceil(concurrency * FIRST_TRIES_SHARE), () => pump())
  const pace = createRequestPace(() => pump())
  const probeSlots = Math.min(concurrency * PROBE_FACTOR, Math.max(concurrency, PROBE_SLOTS_MAX))
  let probes: HeldJob[] = []
  let probing = 0
  const sending = new Set<Promise<void>>()
  const returned = new Set<Promise<void>>()
  const largePayloads = createLargePayloads(pool, window)
  const reports = createReportBatcher(pool, window, () => wakeups.wake('results'))
  let stoppedAtMs: number | undefined
  const silence = setInterval(() => {
    if (!lanes.setAsideSilent(performance.now())) return
    pump()
    options.onDone()
  }, LOOK_FOR_SILENT_EVERY_MS)

  async function hold(
    claimed: readonly ClaimedJob[],
    { askedAtMs, probe }: { askedAtMs: number; probe: boolean },
  ): Promise<string[]> {
    if (claimed.length === 0) return []
    metrics.jobsClaimed(claimed.length)
    const leaseEndsMs = askedAtMs + leaseMs
    const held = claimed.map(
      (job): HeldJob => Object.assign(job, { secrets: [], leaseEndsMs, probe, isSent: false }),
    )
    const ids = [...new Set(held.map(({ subscriptionId }) => subscriptionId))]
    const [secrets] = await Promise.all([options.readSecrets(ids), options.breakers().recall(ids)]).catch(
      async (error: Error) => {
        await giveBack(held)
        throw error
      },
    )
    const jobs = options.admit(held, askedAtMs)
    for (const job of jobs) job.secrets = secrets.get(job.subscriptionId) ?? []
    if (probe) probes.push(...jobs)
    const refused = probe ? [] : lanes.take(jobs)
    pump()
    // An endpoint may have answered while its other jobs were on their way back: then no other wake-up tells of them.
    if (refused.length > 0) {
      void giveBack(refused).then(() => {
        if (refused.some((job) => standingOf(job.subscriptionId) === 'answering')) options.onDone()
      })
    }
    return refused.map(({ subscriptionId }) => subscriptionId)
  }

  function next(): HeldJob | undefined {
    if (stoppedAtMs !== undefined) return undefined
    const may = { untried: firstTries.mayBegin(), failing: pace.mayBegin() }
    if (!may.failing || probing >= probeSlots || probes.length === 0) return lanes.next(may)
    probing += 1
    return probes.shift()
  }

  function free(job: HeldJob): void {
    if (job.probe) probing -= 1
    else {
      lanes.done(job.subscriptionId)
      firstTries.ended(job.subscriptionId)
    }
  }

  function pump(): void {
    const unsent: HeldJob[] = []
    for (let job = next(); job !== undefined; job = next()) {
      if (isLate(job) || isPaused(job)) {
        free(job)
        unsent.push(job)
        continue
      }
      const standing = job.probe ? 'failing' : standingOf(job.subscriptionId)
      begin(job)
      if (standing === 'untried') firstTries.begun(job.subscriptionId)
      const isAlone = lanes.busy() + firstTries.waiting() === 0
      if (standing === 'failing') pace.begun(isAlone ? 0 : AFTER_FAILING_MS)
    }
    // In one statement: on a slow system, one statement per job would delay the next claim until all of its jobs are
    // late.
    if (unsent.length > 0) void giveBack(unsent)
  }

  function begin(job: HeldJob): void {
    const work = deliver(job)
      .catch((error: Error) => {
        const fields = { ...fieldsOf(job), reason: error.message }
        if (outageOf(error) || isPoolEnded(error)) log.warn(fields, 'delivery was not reported')
        else log.error({ ...fields, err: error }, 'delivery was not reported')
      })
      .finally(() => {
        sending.delete(work)
        free(job)
        pump()
        options.onDone()
      })
    sending.add(work)
  }

  function send(job: HeldJob, payload: string): Promise<WebhookOutcome> {
    const request = toRequest(job, payload, job.secrets)
    job.isSent = true
    return sender.send(request)
  }

  /** Null when nothing was sent: the lease is too short, the job is stopped, or the worker is stopping. */
  async function attempt(job: HeldJob): Promise<WebhookOutcome | null> {
    if (job.secrets.length === 0) return notSent('secret_unreadable')
    if (job.payload !== null) return send(job, job.payload)
    return largePayloads.with(
      job.eventId,
      async (payload) => (payload === null ? notSent('payload_too_large') : send(job, payload)),
      () => stoppedAtMs !== undefined || isLate(job) || isPaused(job) || options.isStopped(job),
    )
  }

  async function deliver(job: HeldJob): Promise<void> {
    // Only reading the payload can fail here: nothing was sent, so the job is released at once.
    const outcome = await attempt(job).catch(async (error: Error) => {
      await giveBack([job])
      throw error
    })
    if (outcome === null) return giveBack([job])
    const errorCode = outcome.delivered ? null : outcome.errorCode
    metrics.attemptFinished({ delivered: outcome.delivered, errorCode, durationMs: outcome.durationMs })
    const breakers = options.breakers()
    if (errorCode !== 'payload_too_large') breakers.note(job.subscriptionId, errorCode, job)
    if (job.probe) breakers.wake()
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

  /** The job waited so long for a slot that its lease might end before its report: it needs a new claim and lease. */
  const isLate = ({ leaseEndsMs }: HeldJob) =>
    leaseEndsMs - options.requestTimeoutMs - REPORT_MS < performance.now()

  /** The endpoint's breaker has opened since the claim: the job waits, and uses no attempt. */
  const isPaused = ({ probe, subscriptionId }: HeldJob) => !probe && options.breakers().isOpen(subscriptionId)

  function withdraw(unwanted: (job: HeldJob) => boolean): HeldJob[] {
    const withdrawn = [...lanes.withdraw(unwanted), ...probes.filter(unwanted)]
    probes = probes.filter((job) => !unwanted(job))
    return withdrawn
  }

  /**
   * Never fails; `stop` waits for it. Idempotent, so a lost answer is harmless. [J12] A job that was sent and cannot be
   * reported is not released: its lease expires and counts as lost.
   */
  function giveBack(held: readonly HeldJob[]): Promise<void> {
    const jobs = held.filter(({ isSent }) => !isSent)
    const leaseEndsMs = jobs.reduce((least, job) => Math.min(least, job.leaseEndsMs), Infinity)
    const endsMs = () => Math.min(leaseEndsMs, (stoppedAtMs ?? Infinity) + GIVE_BACK_AFTER_STOP_MS)
    const returning = repeatUntil(endsMs, () => releaseJobs(pool, jobs, window))
      .catch((error: Error) => logFailure(log, error, 'jobs could not be released; their leases will expire'))
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

  return {
    lanes,
    roomForProbes: () => Math.max(0, probeSlots - probing - probes.length),
    hold,
    withdraw,
    giveBack,
    giveBackLate: () => giveBack(withdraw(isLate)),
    giveBackPaused: () => void giveBack(lanes.withdraw(isPaused)),
    async stop(beforeEnd) {
      stoppedAtMs = performance.now()
      pace.stop()
      firstTries.stop()
      clearInterval(silence)
      await beforeEnd()
      await giveBack(withdraw(() => true))
      while (sending.size > 0) await Promise.all(sending)
      await Promise.all(returned)
    },
  }
}
