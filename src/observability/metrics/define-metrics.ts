import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { namedErrorCodes } from './bound-labels.js'

/** A request ends at its deadline, 10 s unless configured. */
const REQUEST_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** From milliseconds without a failure to hours with retries: the default policy waits up to an hour at a time. */
const LATENCY_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400]
/** A step is a query, a call of another service, or long work. */
const STEP_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]
const API_BUCKETS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export const ingestOutcomes = ['stored', 'duplicate', 'conflict', 'refused'] as const
export const jobKinds = ['first', 'retry'] as const
const attemptOutcomes = ['delivered', 'failed'] as const
export const appliedStatuses = ['Completed', 'PendingRetry', 'DeadLettered'] as const
export const resetOutcomes = ['pending', 'failed'] as const
const requeueOutcomes = ['created', 'repeated'] as const
/** Failed is left again when an operator retries or skips. */
export const sagaEnds = ['Completed', 'Compensated', 'Failed', 'Cancelled', 'TimedOut'] as const
const stepOutcomes = ['completed', 'failed'] as const
/** Everything that runs in a loop and tries again when a round fails. */
export const loopParts = [
  'router',
  'orchestrator',
  'worker',
  'cleaner',
  'sagas',
  'partitions',
  'routes',
  'event_keys',
  'gone_subscriptions',
  'work_window',
  'wakeups',
  'statistics',
  'processes',
] as const

/**
 * Every metric of the pipeline, in the order of an event's way. Where the values of a label are few they are there
 * from the start, at 0: `increase()` does not see the first step of a series that begins at 1.
 * docs/operating/metrics.md is compared with it.
 */
export function defineMetrics(registry: Registry) {
  const registers = [registry]
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const counterBy = <Label extends string>(
    name: string,
    help: string,
    label: Label,
    values: readonly string[] = [],
  ) => {
    const made = new Counter({ name, help, labelNames: [label], registers })
    for (const value of values) made.labels(value).inc(0)
    return made
  }
  const histogramBy = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    label: Label,
    values: readonly string[],
  ) => {
    const made = new Histogram({ name, help, labelNames: [label], buckets, registers })
    for (const value of values) made.zero({ [label]: value } as Record<Label, string>)
    return made
  }

  return {
    buildInfo: new Gauge({
      name: 'sagapost_build_info',
      help: 'Always 1; the labels describe the running version',
      labelNames: ['version', 'node'],
      registers,
    }),
    eventsIngested: counterBy(
      'sagapost_events_ingested_total',
      'Events submitted through the API or the SDK, by outcome',
      'outcome',
      ingestOutcomes,
    ),
    eventsRouted: counter('sagapost_events_routed_total', 'Events routed'),
    eventsSetAside: counter(
      'sagapost_events_set_aside_total',
      'Events set aside because the database refused their deliveries',
    ),
    deliveriesRouted: counter('sagapost_deliveries_routed_total', 'Deliveries created by routing'),
    jobsMade: counterBy('sagapost_jobs_made_total', 'Jobs created by the orchestrator', 'kind', jobKinds),
    jobsClaimed: counter('sagapost_jobs_claimed_total', 'Jobs claimed by workers'),
    attempts: counterBy(
      'sagapost_attempts_total',
      'Attempts finished, by outcome',
      'outcome',
      attemptOutcomes,
    ),
    attemptErrors: counterBy(
      'sagapost_attempt_errors_total',
      'Attempts failed, by error code',
      'error_code',
      namedErrorCodes,
    ),
    attemptDuration: histogramBy(
      'sagapost_attempt_duration_seconds',
      'Duration of requests to receivers, from the DNS lookup to the last byte',
      REQUEST_BUCKETS_S,
      'outcome',
      attemptOutcomes,
    ),
    resultsRefused: counter(
      'sagapost_results_refused_total',
      'Results refused because the worker had lost its lease',
    ),
    resultsApplied: counterBy(
      'sagapost_results_applied_total',
      'Results applied by the orchestrator, by the new status of the delivery',
      'status',
      appliedStatuses,
    ),
    deliveryLatency: new Histogram({
      name: 'sagapost_delivery_latency_seconds',
      help: 'Time from the creation of the delivery, when its event was routed, to its completion, retries included',
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    leaseResets: counterBy(
      'sagapost_lease_resets_total',
      'Expired leases, by outcome for the job',
      'outcome',
      resetOutcomes,
    ),
    deadLetters: counter('sagapost_dead_letters_total', 'Deliveries dead-lettered'),
    deadLetterErrors: counterBy(
      'sagapost_dead_letter_errors_total',
      'Deliveries dead-lettered, by last error code',
      'error_code',
      namedErrorCodes,
    ),
    requeues: counterBy(
      'sagapost_requeues_total',
      'Dead letters requeued, by a new delivery or by one that an earlier request had created',
      'outcome',
      requeueOutcomes,
    ),
    subscriptionsGone: counter(
      'sagapost_subscriptions_gone_total',
      'Subscriptions deactivated because their receiver answered 410',
    ),
    breakersOpened: counter('sagapost_breakers_opened_total', 'Circuit breakers opened by a worker'),
    breakersClosed: counter('sagapost_breakers_closed_total', 'Circuit breakers closed by a worker'),
    sagasStarted: counter('sagapost_sagas_started_total', 'Sagas started by a coordinator'),
    sagasFinished: counterBy(
      'sagapost_sagas_finished_total',
      'Sagas ended, by state; Failed sagas wait for an operator',
      'state',
      sagaEnds,
    ),
    sagaStepDuration: histogramBy(
      'sagapost_saga_step_duration_seconds',
      'Duration of step attempts, from intent to checkpoint',
      STEP_BUCKETS_S,
      'outcome',
      stepOutcomes,
    ),
    sagaCompensationDuration: histogramBy(
      'sagapost_saga_compensation_duration_seconds',
      'Duration of compensation attempts, from intent to checkpoint',
      STEP_BUCKETS_S,
      'outcome',
      stepOutcomes,
    ),
    sagaRetries: counter('sagapost_saga_retries_total', 'Retries of steps and of compensations'),
    sagasRecovered: counter(
      'sagapost_sagas_recovered_total',
      'Sagas taken over because the lease of their coordinator had expired',
    ),
    sagaWritesRefused: counter(
      'sagapost_saga_writes_refused_total',
      'Writes refused because the coordinator had lost its lease',
    ),
    loopFailures: counterBy(
      'sagapost_loop_failures_total',
      'Failed rounds of a part, which are retried',
      'part',
      loopParts,
    ),
    httpDuration: new Histogram({
      name: 'sagapost_http_request_duration_seconds',
      help: 'Duration of API requests, by route template',
      labelNames: ['method', 'route', 'status'],
      buckets: API_BUCKETS_S,
      registers,
    }),
  }
}
