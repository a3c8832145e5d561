import type pg from 'pg'
import type { Logger } from 'pino'
import type { WorkWindow } from '../database/index.js'
import type { SigningSecret, WebhookOutcome, WebhookSender } from '../https/index.js'
import { startLoop, type Wakeups } from '../loop/index.js'
import { createReportBatcher } from './batch-reports.js'
import { type ClaimedJob, claimJobs } from './claim-jobs.js'
import { releaseJobs } from './release-jobs.js'
import type { JobReport } from './report-results.js'

/** Claimed ahead, so that a free slot finds its next job in memory. */
const PREFETCH_FACTOR = 1.5
/** Of all slots, the share that one subscription may hold: a dead endpoint leaves the rest to the others. */
const SUBSCRIPTION_SHARE = 0.5
const REPORT_TRIES_MAX = 5

export interface WorkerOptions {
  /** Under the role job_worker. */
  pool: pg.Pool
  sender: WebhookSender
  /** The secrets of these subscriptions; one whose secrets cannot be read is absent. */
  readSecrets: (subscriptionIds: readonly string[]) => Promise<ReadonlyMap<string, readonly SigningSecret[]>>
  window: () => WorkWindow
  wakeups: Wakeups
  log: Logger
  workerId: string
  concurrency: number
  leaseMs: number
  pollMs: number
}

export interface Worker {
  /** Finishes what is being sent, gives back what was not begun: a clean stop repeats nothing. */
  stop(): Promise<void>
}

interface HeldJob extends ClaimedJob {
  secrets: readonly SigningSecret[]
}

export function startWorker(options: WorkerOptions): Worker {
  const { pool, sender, wakeups, log, workerId, concurrency, leaseMs } = options
  const slotsPerSubscription = Math.max(1, Math.ceil(concurrency * SUBSCRIPTION_SHARE))
  const prefetchMax = Math.ceil(concurrency * PREFETCH_FACTOR)
  const queued: HeldJob[] = []
  const running = new Map<string, number>()
  const sending = new Set<Promise<void>>()
  const reports = createReportBatcher(pool, () => wakeups.wake('results'))

  const held = () => queued.length + sending.size
  const fullSubscriptions = () =>
    [...running]
      .filter(([, count]) => count >= slotsPerSubscription)
      .map(([subscriptionId]) => subscriptionId)

  async function claimRound(): Promise<boolean> {
    const room = prefetchMax - held()
    if (room <= 0) return false
    const { fresh, older } = options.window()
    let claimed: ClaimedJob[] = []
    for (const range of older ? [fresh, older] : [fresh]) {
      const batchMax = room - claimed.length
      if (batchMax <= 0) break
      claimed = claimed.concat(
        await claimJobs(pool, { range, batchMax, leaseMs, workerId, except: fullSubscriptions() }),
      )
    }
    if (claimed.length > 0) await enqueue(claimed)
    return claimed.length === room
  }

  async function enqueue(claimed: ClaimedJob[]): Promise<void> {
    const ids = [...new Set(claimed.map(({ subscriptionId }) => subscriptionId))]
    const secrets = await options.readSecrets(ids)
    for (const job of claimed) queued.push({ ...job, secrets: secrets.get(job.subscriptionId) ?? [] })
    pump()
  }

  function pump(): void {
    for (let at = 0; at < queued.length && sending.size < concurrency; ) {
      const job = queued[at] as HeldJob
      const count = running.get(job.subscriptionId) ?? 0
      if (count >= slotsPerSubscription) {
        at++
        continue
      }
      queued.splice(at, 1)
      running.set(job.subscriptionId, count + 1)
      const work = deliver(job)
        .catch((error: Error) => log.error({ err: error, ...fieldsOf(job) }, 'delivery was not reported'))
        .finally(() => {
          sending.delete(work)
          const left = (running.get(job.subscriptionId) ?? 1) - 1
          if (left > 0) running.set(job.subscriptionId, left)
          else running.delete(job.subscriptionId)
          pump()
          loop.wake()
        })
      sending.add(work)
    }
  }

  async function deliver(job: HeldJob): Promise<void> {
    const outcome = await sendJob(job)
    const accepted = await reportUntilCommitted(toReport(job, outcome))
    const fields = {
      ...fieldsOf(job),
      durationMs: outcome.durationMs,
      responseStatus: outcome.responseStatus,
    }
    if (!accepted) log.warn(fields, 'lease was lost; the result was refused')
    else if (outcome.delivered) log.info(fields, 'delivered')
    else log.info({ ...fields, error_code: outcome.errorCode }, 'not delivered')
  }

  async function sendJob(job: HeldJob): Promise<WebhookOutcome> {
    if (job.secrets.length === 0) return { delivered: false, errorCode: 'secret_unreadable', durationMs: 0 }
    return sender.send({
      url: job.callbackUrl,
      webhookId: `evt_${job.eventId}`,
      body: Buffer.from(job.payload),
      secrets: job.secrets,
      headers: {
        ...job.headers,
        'sagapost-event-type': job.eventType,
        'sagapost-attempt': String(job.attempt),
        'sagapost-correlation-id': job.correlationId ?? `evt_${job.eventId}`,
        ...(job.traceparent ? { traceparent: job.traceparent } : {}),
      },
    })
  }

  /** A database that is away for a moment must not turn a delivery into a repeated one. */
  async function reportUntilCommitted(report: JobReport): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await reports.report(report)
      } catch (error) {
        if (attempt >= REPORT_TRIES_MAX) throw error
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt))
      }
    }
  }

  const fieldsOf = (job: ClaimedJob) => ({
    saga_id: job.sagaId,
    job_id: job.id,
    event_id: job.eventId,
    subscription_id: job.subscriptionId,
    worker_id: workerId,
    lease_expiration: job.leaseUntil,
    correlation_id: job.correlationId ?? `evt_${job.eventId}`,
    attempt: job.attempt,
  })

  const loop = startLoop({
    round: claimRound,
    idleMs: options.pollMs,
    onError: (error) => log.error({ err: error }, 'claiming jobs failed; will try again'),
  })
  const unsubscribe = wakeups.onWake('claims', loop.wake)

  return {
    async stop() {
      unsubscribe()
      await loop.stop()
      await releaseJobs(pool, queued.splice(0)).catch((error: Error) =>
        log.error({ err: error }, 'jobs could not be given back; their leases will run out'),
      )
      while (sending.size > 0) await Promise.all(sending)
    },
  }
}

function toReport(job: ClaimedJob, outcome: WebhookOutcome): JobReport {
  return {
    jobId: job.id,
    eventId: job.eventId,
    leaseToken: job.leaseToken,
    errorCode: outcome.delivered ? null : outcome.errorCode,
    responseStatus: outcome.responseStatus ?? null,
    retryAfterS: outcome.delivered ? null : (outcome.retryAfterS ?? null),
    durationMs: Math.round(outcome.durationMs),
    responseExcerpt: outcome.responseExcerpt ?? null,
  }
}
