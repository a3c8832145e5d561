import { pino } from 'pino'
import { afterEach } from 'vitest'
import { startWorker } from '../../../src/delivery/index.js'
import type { WorkerOptions } from '../../../src/delivery/worker/start-worker.js'
import { createWakeups } from '../../../src/loop/index.js'
import { eventIdIn } from '../../../src/model/index.js'
import type { WebhookOutcome, WebhookRequest } from '../../../src/webhook/index.js'

export const delivered: WebhookOutcome = {
  delivered: true,
  responseStatus: 200,
  durationMs: 5,
  responseExcerpt: 'ok',
}
export const failed = (status: number): WebhookOutcome => ({
  delivered: false,
  errorCode: `http_${status}`,
  responseStatus: status,
  durationMs: 5,
})

/** Nothing that a test waits for may come from a poll. */
const NEVER_MS = 1_000_000

interface Sent {
  /** The event's id. */
  eventId: string
  request: WebhookRequest
  answer: (outcome: WebhookOutcome) => void
}

/** Starts workers whose requests end when the test releases them, and stops them after each test. */
export function useWorker(defaults: () => Pick<WorkerOptions, 'pool' | 'window'>) {
  const stops: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })

  return (options: Partial<WorkerOptions> & { respond?: () => WebhookOutcome } = {}) => {
    const { respond, ...others } = options
    const sent: Sent[] = []
    const counts = { claimed: 0, finished: 0, refused: 0, opened: 0, closed: 0, failedRounds: 0 }
    const wakeups = createWakeups()
    const worker = startWorker({
      sender: {
        send: (request) =>
          new Promise((answer) => {
            sent.push({ eventId: String(eventIdIn(request.webhookId)), request, answer })
            if (respond) answer(respond())
          }),
        close: async () => {},
      },
      readSecrets: async (ids) => new Map(ids.map((id) => [id, [{ scheme: 'v1', key: Buffer.alloc(32) }]])),
      wakeups,
      log: pino({ level: 'silent' }),
      metrics: {
        jobsClaimed: (count) => {
          counts.claimed += count
        },
        attemptFinished: () => {
          counts.finished += 1
        },
        attemptRefused: () => {
          counts.refused += 1
        },
        breakerOpened: () => {
          counts.opened += 1
        },
        breakerClosed: () => {
          counts.closed += 1
        },
        loopFailed: () => {
          counts.failedRounds += 1
        },
      },
      workerId: 'worker-a',
      concurrency: 10,
      leaseMs: 60_000,
      requestTimeoutMs: 10_000,
      pollMs: () => NEVER_MS,
      ...defaults(),
      ...others,
    })
    stops.push(async () => {
      const stopped = worker.stop()
      for (const { answer } of sent) answer(delivered)
      await stopped
    })
    return { worker, wakeups, sent, counts, sentIds: () => sent.map(({ eventId }) => eventId) }
  }
}
