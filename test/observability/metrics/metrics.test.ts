import { register } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createMetrics, type Metrics } from '../../../src/observability/index.js'
import { namedErrorCodes } from '../../../src/observability/metrics/bound-labels.js'
import { deliveryErrorCodes } from '../../../src/webhook/index.js'
import { parseMetrics, pipelineSeries } from './parse-metrics.js'
import { recordEverything } from './record-everything.js'

const seriesOf = async (metrics: Metrics) => pipelineSeries((await metrics.render()).body)

/** What the work adds to each series; buckets are left out. */
async function changes(metrics: Metrics, work: (metrics: Metrics) => void): Promise<Record<string, number>> {
  const before = await seriesOf(metrics)
  work(metrics)
  const after = await seriesOf(metrics)
  expect([...before.keys()].filter((key) => !after.has(key))).toEqual([])
  return Object.fromEntries(
    [...after]
      .map(([key, value]) => [key, value - (before.get(key) ?? 0)] as const)
      .filter(([key, change]) => change !== 0 && !/_bucket\{/.test(key)),
  )
}

describe('recorders', () => {
  it.each([
    ['eventsIngested', { 'sagapost_events_ingested_total{outcome="stored"}': 3 }],
    ['eventsRouted', { sagapost_events_routed_total: 5, sagapost_deliveries_routed_total: 7 }],
    ['jobsMade', { 'sagapost_jobs_made_total{kind="retry"}': 4 }],
    ['jobsClaimed', { sagapost_jobs_claimed_total: 6 }],
    [
      'attemptFinished',
      {
        'sagapost_attempts_total{outcome="failed"}': 1,
        'sagapost_attempt_errors_total{error_code="timeout"}': 1,
        'sagapost_attempt_duration_seconds_sum{outcome="failed"}': 1.5,
        'sagapost_attempt_duration_seconds_count{outcome="failed"}': 1,
      },
    ],
    ['attemptRefused', { sagapost_results_refused_total: 1 }],
    [
      'resultApplied',
      {
        'sagapost_results_applied_total{status="Completed"}': 1,
        sagapost_delivery_latency_seconds_sum: 0.25,
        sagapost_delivery_latency_seconds_count: 1,
      },
    ],
    ['leaseReset', { 'sagapost_lease_resets_total{outcome="pending"}': 1 }],
    [
      'deadLettered',
      { sagapost_dead_letters_total: 1, 'sagapost_dead_letter_errors_total{error_code="http_500"}': 1 },
    ],
    ['requeued', { 'sagapost_requeues_total{outcome="created"}': 1 }],
    ['subscriptionGone', { sagapost_subscriptions_gone_total: 1 }],
    ['breakerOpened', { sagapost_breakers_opened_total: 1 }],
    ['breakerClosed', { sagapost_breakers_closed_total: 1 }],
    ['sagaStarted', { sagapost_sagas_started_total: 1 }],
    ['sagaFinished', { 'sagapost_sagas_finished_total{state="Compensated"}': 1 }],
    [
      'sagaAttemptEnded',
      {
        'sagapost_saga_step_duration_seconds_sum{outcome="failed"}': 0.04,
        'sagapost_saga_step_duration_seconds_count{outcome="failed"}': 1,
      },
    ],
    ['sagaRetried', { sagapost_saga_retries_total: 1 }],
    ['sagaRecovered', { sagapost_sagas_recovered_total: 1 }],
    ['sagaRefused', { sagapost_saga_writes_refused_total: 1 }],
    ['loopFailed', { 'sagapost_loop_failures_total{part="router"}': 1 }],
    [
      'httpRequest',
      {
        'sagapost_http_request_duration_seconds_sum{method="GET",route="/v1/events/:id",status="200"}': 0.02,
        'sagapost_http_request_duration_seconds_count{method="GET",route="/v1/events/:id",status="200"}': 1,
      },
    ],
  ] as const)('[O5] %s changes its own series and no other', async (name, expected) => {
    const metrics = createMetrics()
    expect(await changes(metrics, recordEverything[name])).toEqual(expected)
    expect(await changes(metrics, recordEverything[name])).toEqual(expected)
  })

  it.each([
    [
      'a duplicate',
      (m: Metrics) => m.eventsIngested('duplicate', 2),
      'sagapost_events_ingested_total{outcome="duplicate"}',
      2,
    ],
    [
      'a conflict',
      (m: Metrics) => m.eventsIngested('conflict', 1),
      'sagapost_events_ingested_total{outcome="conflict"}',
      1,
    ],
    [
      'a refusal',
      (m: Metrics) => m.eventsIngested('refused', 1),
      'sagapost_events_ingested_total{outcome="refused"}',
      1,
    ],
    ['a first job', (m: Metrics) => m.jobsMade('first', 9), 'sagapost_jobs_made_total{kind="first"}', 9],
    [
      'a retry',
      (m: Metrics) => m.resultApplied({ status: 'PendingRetry', latencyMs: 5 }),
      'sagapost_results_applied_total{status="PendingRetry"}',
      1,
    ],
    [
      'an end',
      (m: Metrics) => m.resultApplied({ status: 'DeadLettered' }),
      'sagapost_results_applied_total{status="DeadLettered"}',
      1,
    ],
    [
      'a lost job',
      (m: Metrics) => m.leaseReset('failed'),
      'sagapost_lease_resets_total{outcome="failed"}',
      1,
    ],
    [
      'a repeated requeue',
      (m: Metrics) => m.requeued(false),
      'sagapost_requeues_total{outcome="repeated"}',
      1,
    ],
  ] as const)('[O5] %s is distinguished from the rest', async (_what, work, key, by) => {
    expect(await changes(createMetrics(), work)).toEqual({ [key]: by })
  })

  it('[O5] a delivered attempt has no error code', async () => {
    const work = (m: Metrics) => m.attemptFinished({ delivered: true, durationMs: 0 })
    expect(await changes(createMetrics(), work)).toEqual({
      'sagapost_attempts_total{outcome="delivered"}': 1,
      'sagapost_attempt_duration_seconds_count{outcome="delivered"}': 1,
    })
  })

  it('[O5] durations are in seconds and fall into the bucket that holds them', async () => {
    const metrics = createMetrics()
    metrics.attemptFinished({ delivered: true, durationMs: 30 })
    const series = await seriesOf(metrics)
    const bucket = (le: string) =>
      series.get(`sagapost_attempt_duration_seconds_bucket{le="${le}",outcome="delivered"}`)
    expect([bucket('0.025'), bucket('0.05'), bucket('+Inf')]).toEqual([0, 1, 1])
  })

  it('[O5] an invalid number neither throws nor spoils a series', async () => {
    const metrics = createMetrics()
    const wrong = (m: Metrics) => {
      for (const number of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
        m.eventsIngested('stored', number)
        m.eventsRouted(number, number)
        m.jobsClaimed(number)
        m.resultApplied({ status: 'Completed', latencyMs: number })
        m.attemptFinished({ delivered: true, durationMs: number })
        m.httpRequest({ method: 'GET', route: '/', status: number, durationMs: number })
      }
    }
    const changed = await changes(metrics, wrong)
    expect(Object.keys(changed).filter((key) => !/_count(\{|$)|applied|attempts_total/.test(key))).toEqual([])
  })
})

describe('labels', () => {
  it('[O5] every code of the closed list is a label of its own', async () => {
    const metrics = createMetrics()
    const codes = Object.keys(deliveryErrorCodes).map((code) => code.replace('<status>', '503'))
    for (const errorCode of codes) metrics.attemptFinished({ delivered: false, errorCode, durationMs: 1 })
    const found = parseMetrics((await metrics.render()).body).get('sagapost_attempt_errors_total')
    expect(found?.samples.map(({ labels, value }) => [labels['error_code'], value]).sort()).toEqual(
      codes.map((code) => [code, 1]).sort(),
    )
  })

  it('[O5] values outside the closed lists share one label, however many there are', async () => {
    const metrics = createMetrics()
    const odd = ['http_099', 'http_600', 'http_999', 'http_1000', 'http_', 'http_-1', 'nonsense', '', null]
    for (const errorCode of odd) {
      metrics.attemptFinished({ delivered: false, errorCode, durationMs: 1 })
      metrics.deadLettered(errorCode)
    }
    for (let n = 0; n < 2000; n++) {
      metrics.attemptFinished({ delivered: false, errorCode: `http_${n}`, durationMs: 1 })
      metrics.deadLettered(`made_up_${n}`)
      metrics.httpRequest({ method: `M${n}`, route: undefined, status: n, durationMs: 1 })
    }
    const families = parseMetrics((await metrics.render()).body)
    const values = (name: string, label: string) => [
      ...new Set(families.get(name)?.samples.map(({ labels }) => labels[label])),
    ]
    const codes = values('sagapost_attempt_errors_total', 'error_code')
    expect(codes).toHaveLength(namedErrorCodes.length + 500 + 2)
    expect(codes).toEqual(expect.arrayContaining(['http_100', 'http_599', 'http_other', 'other']))
    expect(values('sagapost_dead_letter_errors_total', 'error_code')).toEqual([
      ...namedErrorCodes,
      'http_other',
      'other',
    ])
    expect(values('sagapost_http_request_duration_seconds', 'method')).toEqual(['other'])
    expect(values('sagapost_http_request_duration_seconds', 'route')).toEqual(['unmatched'])
    expect(values('sagapost_http_request_duration_seconds', 'status')).toHaveLength(500 + 1)
  })

  it('[O5] series of small closed lists exist before anything happened', async () => {
    const series = await seriesOf(createMetrics())
    expect(series.get('sagapost_events_ingested_total{outcome="conflict"}')).toBe(0)
    expect(series.get('sagapost_loop_failures_total{part="cleaner"}')).toBe(0)
    expect(series.get('sagapost_attempt_duration_seconds_count{outcome="failed"}')).toBe(0)
    expect(series.get('sagapost_dead_letters_total')).toBe(0)
  })
})

describe('render', () => {
  it('[O5] is Prometheus text, of the process and of all parts, also twice in a row', async () => {
    const metrics = createMetrics()
    for (const record of Object.values(recordEverything)) record(metrics)
    for (let scrape = 0; scrape < 2; scrape++) {
      const { contentType, body } = await metrics.render()
      expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
      const families = parseMetrics(body)
      const value = (name: string) => families.get(name)?.samples[0]?.value
      expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
      expect(value('process_cpu_user_seconds_total')).toBeGreaterThan(0)
      expect(value('process_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1000)
      for (const share of ['p50', 'p99', 'max']) {
        expect(value(`nodejs_eventloop_lag_${share}_seconds`)).toBeGreaterThanOrEqual(0)
        expect(value(`nodejs_eventloop_lag_${share}_seconds`)).toBeLessThan(3600)
      }
    }
  })

  it('[O5] a blocked event loop shows as lag', async () => {
    const metrics = createMetrics()
    const lag = async () =>
      parseMetrics((await metrics.render()).body).get('nodejs_eventloop_lag_max_seconds')?.samples[0]?.value
    // Reading begins a new period, whose first interval does not count: so it is blocked several times between reads.
    const blocking = setInterval(() => {
      const until = performance.now() + 200
      while (performance.now() < until);
    }, 400)
    try {
      await expect.poll(lag, { interval: 2_000 }).toBeGreaterThan(0.1)
    } finally {
      clearInterval(blocking)
    }
  })

  it('[O2] instances in one process do not interfere, nor with an application that uses prom-client', async () => {
    const [one, other] = [createMetrics(), createMetrics()]
    const before = await seriesOf(other)
    for (const record of Object.values(recordEverything)) record(one)
    expect(await seriesOf(other)).toEqual(before)
    expect((await seriesOf(one)).get('sagapost_jobs_claimed_total')).toBe(6)
    expect(register.getMetricsAsArray()).toEqual([])
  })

  it('[O5] has no backlog when none is collected', async () => {
    expect((await createMetrics().render()).body).not.toContain('backlog')
  })
})
