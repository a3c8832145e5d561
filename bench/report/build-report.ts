import { BODY_BYTES } from '../harness/make-body.js'
import { ENQUEUE_BATCH } from '../harness/measured-system.js'
import type { BenchOptions } from '../harness/read-options.js'
import type { EndpointsResult } from '../parts/measure-endpoints.js'
import type { FanOutResult } from '../parts/measure-fan-out.js'
import type { GrowthResult } from '../parts/measure-growth.js'
import type { IdleResult } from '../parts/measure-idle.js'
import type { IngestionResult } from '../parts/measure-ingestion.js'
import type { IsolationResult } from '../parts/measure-isolation.js'
import type { LargeFanOutResult } from '../parts/measure-large-fan-out.js'
import type { LatencyResult } from '../parts/measure-latency.js'
import type { MemoryResult } from '../parts/measure-memory.js'
import type { PartitionsResult } from '../parts/measure-partitions.js'
import type { ThroughputResult } from '../parts/measure-throughput.js'
import type { Machine } from './describe-machine.js'
import { type Goal, judgeGoals } from './judge-goals.js'

/** Null: not asked for. */
export interface Results {
  throughput: ThroughputResult | null
  latency: LatencyResult[] | null
  fanOut: FanOutResult[] | null
  largeFanOut: LargeFanOutResult | null
  ingestion: IngestionResult | null
  isolation: IsolationResult | null
  endpoints: EndpointsResult | null
  /** With a few, and with many. */
  partitions: PartitionsResult[] | null
  growth: GrowthResult | null
  idle: IdleResult | null
  memory: MemoryResult | null
}

/** The rate that the latency on top of the report is of. */
const GOAL_RATE_PER_S = 10

/** What `--json` writes. The first fields are for machines and keep their names; null where a part was left out. */
export interface Report extends Results {
  deliveriesPerSecond: number | null
  ratios: { bareLimit: number | null; graphileWorker: number | null; pgBoss: number | null }
  latencyMs: { perSecond: number | null; p50: number | null; p95: number | null; p99: number | null }
  goals: Goal[]
  startedAt: string
  tookS: number
  machine: Machine
  settings: {
    quick: boolean
    rounds: number
    roundS: number
    concurrency: number
    bodyBytes: number
    enqueueBatch: number
  }
}

export function buildReport(run: {
  startedAt: Date
  tookS: number
  options: BenchOptions
  machine: Machine
  results: Results
}): Report {
  const { options, results } = run
  const { throughput, latency } = results
  const shown = latency?.find(({ perSecond }) => perSecond === GOAL_RATE_PER_S) ?? latency?.[0]
  const one = throughput?.ratios.oneProcess
  return {
    deliveriesPerSecond:
      throughput?.systems.find(({ name }) => name === 'Sagapost')?.perSecond.median ?? null,
    ratios: {
      bareLimit: one?.bareLimit.median ?? null,
      graphileWorker: one?.graphileWorker.median ?? null,
      pgBoss: one?.pgBoss.median ?? null,
    },
    latencyMs: {
      perSecond: shown?.perSecond ?? null,
      p50: shown?.p50 ?? null,
      p95: shown?.p95 ?? null,
      p99: shown?.p99 ?? null,
    },
    goals: judgeGoals(results),
    startedAt: run.startedAt.toISOString(),
    tookS: run.tookS,
    machine: run.machine,
    settings: {
      quick: options.quick,
      rounds: options.rounds,
      roundS: options.roundS,
      concurrency: options.concurrency,
      bodyBytes: BODY_BYTES,
      enqueueBatch: ENQUEUE_BATCH,
    },
    ...results,
  }
}
