import type { Recorders } from '../../../src/observability/index.js'

/** One call of every recorder; the type ensures that all are listed. */
export const recordEverything: Record<keyof Recorders, (metrics: Recorders) => void> = {
  eventsIngested: (metrics) => metrics.eventsIngested('stored', 3),
  eventsRouted: (metrics) => metrics.eventsRouted(5, 7),
  eventsSetAside: (metrics) => metrics.eventsSetAside(1),
  jobsMade: (metrics) => metrics.jobsMade('retry', 4),
  jobsClaimed: (metrics) => metrics.jobsClaimed(6),
  attemptFinished: (metrics) =>
    metrics.attemptFinished({ delivered: false, errorCode: 'timeout', durationMs: 1500 }),
  attemptRefused: (metrics) => metrics.attemptRefused(),
  resultApplied: (metrics) => metrics.resultApplied({ status: 'Completed', latencyMs: 250 }),
  leaseReset: (metrics) => metrics.leaseReset('pending'),
  deadLettered: (metrics) => metrics.deadLettered('http_500'),
  requeued: (metrics) => metrics.requeued(true),
  subscriptionGone: (metrics) => metrics.subscriptionGone(),
  breakerOpened: (metrics) => metrics.breakerOpened(),
  breakerClosed: (metrics) => metrics.breakerClosed(),
  sagaStarted: (metrics) => metrics.sagaStarted(),
  sagaFinished: (metrics) => metrics.sagaFinished('Compensated'),
  sagaAttemptEnded: (metrics) => metrics.sagaAttemptEnded({ kind: 'step', ok: false, durationMs: 40 }),
  sagaRetried: (metrics) => metrics.sagaRetried(),
  sagaRecovered: (metrics) => metrics.sagaRecovered(),
  sagaRefused: (metrics) => metrics.sagaRefused(),
  loopFailed: (metrics) => metrics.loopFailed('router'),
  httpRequest: (metrics) =>
    metrics.httpRequest({ method: 'GET', route: '/v1/events/:id', status: 200, durationMs: 20 }),
}
