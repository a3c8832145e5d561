import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { type Attention, callApi, type Snapshot, type StatisticsPoint, useLive } from '../api/index.js'
import {
  Chart,
  EmptyState,
  formatCount,
  formatDuration,
  formatRate,
  formatShare,
  formatSpan,
  Icon,
  Page,
  Panel,
  ProblemNotice,
  type Series,
  Skeleton,
  showText,
} from '../parts/index.js'

type Range = 'live' | 'hour' | 'day'
const LIVE_MS = 5 * 60_000

const ranges: readonly { range: Range; name: string }[] = [
  { range: 'live', name: '5 min, live' },
  { range: 'hour', name: 'Last hour' },
  { range: 'day', name: 'Last day' },
]

/** Current activity, backlogs and what needs an operator's attention. */
export function OverviewPage() {
  const { snapshots, isConnected } = useLive()
  const latest = snapshots.at(-1)
  const [range, setRange] = useState<Range>('live')
  return (
    <Page
      title="Overview"
      actions={
        <fieldset className="flex rounded-md border border-strong-line p-0.5">
          <legend className="sr-only">Time shown</legend>
          {ranges.map(({ range: each, name }) => (
            <button
              key={each}
              type="button"
              aria-pressed={range === each}
              onClick={() => setRange(each)}
              className={`h-7 rounded px-2.5 ${range === each ? 'bg-accent-wash font-medium text-accent' : 'text-soft hover:text-ink'}`}
            >
              {name}
            </button>
          ))}
        </fieldset>
      }
    >
      {!isConnected && latest && (
        <p role="status" className="mb-3 rounded-md bg-warn-wash px-3 py-2 text-warn">
          Connection lost. The data shown is from {formatSpan(Date.now() - Date.parse(latest.at))} ago.
        </p>
      )}
      <AttentionList latest={latest} />
      <Figures latest={latest} />
      {range === 'live' ? <LiveCharts snapshots={snapshots} /> : <PastCharts range={range} />}
      <Stages latest={latest} />
    </Page>
  )
}

const targets: Record<Attention['kind'], (subject: string | null) => string> = {
  database: () => '/system',
  late_stage: () => '/system',
  set_aside_events: () => '/system',
  expired_leases: () => '/system',
  lost_process: () => '/system',
  failing_endpoint: (subject) => `/subscriptions/${subject}`,
  dead_letters: () => '/dead-letters',
  stuck_sagas: () => '/sagas?awaitingOperator=true',
}

function AttentionList({ latest }: { latest: Snapshot | undefined }) {
  if (!latest) return null
  if (latest.attention.length === 0) {
    return (
      <p className="mb-4 flex items-center gap-2 rounded-lg border border-line bg-good-wash px-4 py-2.5 text-good">
        <Icon name="check" />
        Nothing needs attention.
      </p>
    )
  }
  return (
    <section aria-label="Needs attention" className="panel mb-4 overflow-hidden">
      <ul>
        {latest.attention.map(({ kind, severity, text, subject }) => (
          <li key={kind + subject} className="border-b border-line last:border-0">
            <Link
              href={targets[kind](subject)}
              className="flex items-center gap-3 px-4 py-2 hover:bg-raised focus-visible:-outline-offset-2"
            >
              <Icon name="alert" className={`size-4 ${severity === 'failing' ? 'text-bad' : 'text-warn'}`} />
              <span className="line-clamp-2 min-w-0 break-words" title={showText(text)}>
                {showText(text)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Figures({ latest }: { latest: Snapshot | undefined }) {
  const figures = [
    ['Events', latest && formatRate(latest.eventsPerS), 'per second'],
    ['Attempts', latest && formatRate(latest.attemptsPerS), 'per second'],
    ['Success', latest && formatShare(latest.successRate), 'last minute'],
    ['Median', latest && formatDuration(latest.p50Ms), 'last minute'],
    ['95th percentile', latest && formatDuration(latest.p95Ms), 'last minute'],
    ['Waiting', latest && formatWaiting(latest), 'at all stages'],
  ] as const
  return (
    <dl className="panel mb-4 grid grid-cols-2 sm:grid-cols-3 xl:grid-cols-6">
      {figures.map(([name, value, unit]) => (
        <div key={name} className="px-4 py-3 xl:border-l xl:border-line xl:first:border-0">
          <dt className="text-soft">{name}</dt>
          <dd className="mt-0.5">
            {value === undefined ? (
              <span className="my-1 block h-6 w-16 animate-pulse rounded bg-raised" />
            ) : (
              <span className="text-2xl font-semibold tracking-tight">{value}</span>
            )}
            <span className="block text-xs text-faint">{unit}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const waiting = ['routing', 'first_jobs', 'retries_due', 'claims', 'results', 'sagas_due']

function formatWaiting({ stages }: Snapshot): string {
  if (!stages) return '–'
  const counts = stages.filter(({ stage }) => waiting.includes(stage)).map(({ count }) => count)
  return formatCount(counts.reduce((sum, count) => sum + count, 0))
}

function LiveCharts({ snapshots }: { snapshots: readonly Snapshot[] }) {
  const drawn = useMemo(() => {
    const of = (pick: (snapshot: Snapshot) => number | null) => snapshots.map(pick)
    return {
      times: snapshots.map(({ at }) => Date.parse(at)),
      throughput: throughput(
        of(({ eventsPerS }) => eventsPerS),
        of(({ attemptsPerS }) => attemptsPerS),
        of(({ failedPerS }) => failedPerS),
      ),
      latency: latency(
        of(({ p50Ms }) => p50Ms),
        of(({ p95Ms }) => p95Ms),
        of(({ p99Ms }) => p99Ms),
      ),
    }
  }, [snapshots])
  if (snapshots.length === 0) return <Skeleton rows={5} />
  return <Charts {...drawn} spanMs={LIVE_MS} />
}

function PastCharts({ range }: { range: 'hour' | 'day' }) {
  const { data, error } = useQuery({
    queryKey: ['/v1/statistics', range],
    queryFn: () => callApi<{ data: StatisticsPoint[] }>('GET', '/v1/statistics', { query: { range } }),
    refetchInterval: 10_000,
  })
  const drawn = useMemo(() => drawPast(data?.data ?? [], range), [data, range])
  if (error && !data) return <ProblemNotice error={error} />
  return data ? <Charts {...drawn} /> : <Skeleton rows={5} />
}

/** The last interval is incomplete: drawn as a rate, it would drop to zero. */
export function drawPast(all: readonly StatisticsPoint[], range: 'hour' | 'day') {
  const points = all.slice(0, -1)
  const seconds = range === 'hour' ? 60 : 600
  const of = (pick: (point: StatisticsPoint) => number | null) => points.map(pick)
  return {
    times: points.map(({ at }) => Date.parse(at)),
    throughput: throughput(
      of(({ events }) => (events === null ? null : events / seconds)),
      of(({ succeeded, failed }) => (succeeded + failed) / seconds),
      of(({ failed }) => failed / seconds),
    ),
    latency: latency(
      of(({ p50Ms }) => p50Ms),
      of(({ p95Ms }) => p95Ms),
      of(({ p99Ms }) => p99Ms),
    ),
  }
}

type Values = readonly (number | null)[]

function throughput(events: Values, attempts: Values, failed: Values): Series[] {
  const all: Series[] = [
    { label: 'Events', color: '--series-b', values: events },
    { label: 'Attempts', color: '--series-a', values: attempts, area: true },
    { label: 'Failed', color: '--series-d', values: failed },
  ]
  return events.every((value) => value === null) ? all.slice(1) : all
}

function latency(p50: Values, p95: Values, p99: Values): Series[] {
  return [
    { label: 'Median', color: '--series-a', values: p50, area: true },
    { label: '95 %', color: '--series-b', values: p95 },
    { label: '99 %', color: '--series-c', values: p99 },
  ]
}

type ChartsProps = ReturnType<typeof drawPast> & { spanMs?: number }

export function Charts({ times, throughput: rates, latency: durations, spanMs }: ChartsProps) {
  const common = { times, ...(spanMs && { spanMs }) }
  return (
    <div className="grid gap-x-4 lg:grid-cols-2">
      <Panel title="Throughput, per second">
        <Chart {...common} label="Throughput per second" series={rates} format={formatRate} />
      </Panel>
      <Panel title="Response time">
        <Chart {...common} label="Response time" series={durations} format={formatDuration} least={10} />
      </Panel>
    </div>
  )
}

const stageNames: Record<string, string> = {
  routing: 'Events to route',
  set_aside: 'Events set aside',
  first_jobs: 'Deliveries without a job',
  retries_waiting: 'Retries, not due yet',
  retries_due: 'Retries, due',
  claims: 'Jobs to claim',
  claims_paused: 'Jobs of paused endpoints',
  claims_held: 'Jobs of inactive subscriptions',
  leased: 'Being sent',
  leases_expired: 'Expired leases',
  results: 'Results to apply',
  sagas_due: 'Sagas, due',
  sagas_open: 'Sagas, open',
  sagas_stuck: 'Sagas waiting for an operator',
}

function Stages({ latest }: { latest: Snapshot | undefined }) {
  return (
    <Panel title="Backlog by stage">
      {!latest ? (
        <Skeleton />
      ) : !latest.stages ? (
        <EmptyState title="The database did not respond in time" />
      ) : (
        <dl className="grid grid-cols-1 gap-x-8 px-4 py-2 sm:grid-cols-2 xl:grid-cols-3">
          {latest.stages.map(({ stage, count, oldestAgeS }) => (
            <div key={stage} className="flex items-baseline gap-3 border-b border-line py-1.5">
              <dt className="grow text-soft">{stageNames[stage] ?? stage}</dt>
              <dd className={count > 0 ? 'font-medium' : 'text-faint'}>
                {formatCount(count)}
                {count > 0 && oldestAgeS !== null && (
                  <span className="ml-2 font-normal text-soft">oldest {formatSpan(oldestAgeS * 1000)}</span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
