import { Registry } from 'prom-client'
import type { SagaState } from '../../model/index.js'
import { packageVersion } from '../../package-version.js'
import type { BacklogCollector } from '../backlog/index.js'
import { errorCodeLabel, methodLabel, routeLabel, statusLabel } from './bound-labels.js'
import {
  type appliedStatuses,
  defineMetrics,
  type ingestOutcomes,
  type jobKinds,
  type loopParts,
  type resetOutcomes,
  sagaEnds,
} from './define-metrics.js'
import { measureProcess } from './measure-process.js'
import { showBacklog } from './show-backlog.js'

const ended: ReadonlySet<string> = new Set(sagaEnds)

export type LoopPart = (typeof loopParts)[number]

/**
 * What the parts call when something has happened. Each call takes microseconds, and none of them throws: a metric
 * is never a reason for a delivery to fail.
 */
export interface Recorders {
  eventsIngested(outcome: (typeof ingestOutcomes)[number], count: number): void
  eventsRouted(events: number, deliveries: number): void
  /** The database refuses their deliveries [R1]. */
  eventsSetAside(count: number): void
  jobsMade(kind: (typeof jobKinds)[number], count: number): void
  jobsClaimed(count: number): void
  /** The request ended, whether or not its result is then taken. */
  attemptFinished(attempt: {
    delivered: boolean
    errorCode?: string | null | undefined
    durationMs: number
  }): void
  /** The result was not taken: the lease was lost [J5]. */
  attemptRefused(): void
  /** `latencyMs`: from the delivery being made until now, both by the database's clock; counted when Completed. */
  resultApplied(result: {
    status: (typeof appliedStatuses)[number]
    latencyMs?: number | null | undefined
  }): void
  leaseReset(outcome: (typeof resetOutcomes)[number]): void
  deadLettered(errorCode: string | null): void
  /** `created` is false when an earlier request had made the delivery. */
  requeued(created: boolean, count?: number): void
  subscriptionGone(): void
  breakerOpened(): void
  breakerClosed(): void
  sagaStarted(): void
  sagaFinished(state: SagaState): void
  /** `durationMs` is null when its beginning was not seen here. */
  sagaAttemptEnded(attempt: { kind: 'step' | 'compensation'; ok: boolean; durationMs: number | null }): void
  sagaRetried(): void
  /** A saga of a coordinator that was lost. */
  sagaRecovered(): void
  /** The write was not taken: the lease was lost. */
  sagaRefused(): void
  loopFailed(part: LoopPart): void
  /** `route` is the template, never the path; absent when no route was met. */
  httpRequest(request: {
    method: string
    route: string | undefined
    status: number
    durationMs: number
  }): void
}

export interface Metrics extends Recorders {
  /** In Prometheus' text format. It never fails because the database is away. */
  render(): Promise<{ contentType: string; body: string }>
}

/** Metrics with a registry of their own, so that several instances live in one process beside the application's. */
export function createMetrics({ backlog }: { backlog?: BacklogCollector | undefined } = {}): Metrics {
  const registry = new Registry()
  const metrics = defineMetrics(registry)
  metrics.buildInfo.set({ version: packageVersion(), node: process.version }, 1)
  const refreshBacklog = backlog && showBacklog(registry, backlog)
  const measure = measureProcess(registry)

  return {
    eventsIngested: (outcome, count) => metrics.eventsIngested.inc({ outcome }, countOf(count)),
    eventsRouted(events, deliveries) {
      metrics.eventsRouted.inc(countOf(events))
      metrics.deliveriesRouted.inc(countOf(deliveries))
    },
    eventsSetAside: (count) => metrics.eventsSetAside.inc(countOf(count)),
    jobsMade: (kind, count) => metrics.jobsMade.inc({ kind }, countOf(count)),
    jobsClaimed: (count) => metrics.jobsClaimed.inc(countOf(count)),
    attemptFinished({ delivered, errorCode, durationMs }) {
      const outcome = delivered ? 'delivered' : 'failed'
      metrics.attempts.inc({ outcome })
      if (!delivered) metrics.attemptErrors.inc({ error_code: errorCodeLabel(errorCode ?? null) })
      metrics.attemptDuration.observe({ outcome }, secondsOf(durationMs))
    },
    attemptRefused: () => metrics.resultsRefused.inc(),
    resultApplied({ status, latencyMs }) {
      metrics.resultsApplied.inc({ status })
      if (status === 'Completed' && typeof latencyMs === 'number') {
        metrics.deliveryLatency.observe(secondsOf(latencyMs))
      }
    },
    leaseReset: (outcome) => metrics.leaseResets.inc({ outcome }),
    deadLettered(errorCode) {
      metrics.deadLetters.inc()
      metrics.deadLetterErrors.inc({ error_code: errorCodeLabel(errorCode) })
    },
    requeued: (created, count = 1) =>
      metrics.requeues.inc({ outcome: created ? 'created' : 'repeated' }, count),
    subscriptionGone: () => metrics.subscriptionsGone.inc(),
    breakerOpened: () => metrics.breakersOpened.inc(),
    breakerClosed: () => metrics.breakersClosed.inc(),
    sagaStarted: () => metrics.sagasStarted.inc(),
    sagaFinished(state) {
      if (ended.has(state)) metrics.sagasFinished.inc({ state })
    },
    sagaAttemptEnded({ kind, ok, durationMs }) {
      const duration = kind === 'step' ? metrics.sagaStepDuration : metrics.sagaCompensationDuration
      if (durationMs !== null)
        duration.observe({ outcome: ok ? 'completed' : 'failed' }, secondsOf(durationMs))
    },
    sagaRetried: () => metrics.sagaRetries.inc(),
    sagaRecovered: () => metrics.sagasRecovered.inc(),
    sagaRefused: () => metrics.sagaWritesRefused.inc(),
    loopFailed: (part) => metrics.loopFailures.inc({ part }),
    httpRequest({ method, route, status, durationMs }) {
      const labels = { method: methodLabel(method), route: routeLabel(route), status: statusLabel(status) }
      metrics.httpDuration.observe(labels, secondsOf(durationMs))
    },
    async render() {
      await refreshBacklog?.()
      measure()
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
  }
}

/** prom-client throws on what is negative and keeps NaN for ever; neither may come of a number that went wrong. */
function countOf(count: number): number {
  return Number.isFinite(count) && count > 0 ? count : 0
}

function secondsOf(ms: number): number {
  return countOf(ms) / 1000
}
