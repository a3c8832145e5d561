import type { Results } from './build-report.js'

export interface Goal {
  goal: string
  target: string
  value: number
  met: boolean
}

/** The goals that the run has a number for. */
export function judgeGoals({
  throughput,
  latency,
  largeFanOut,
  ingestion,
  isolation,
  endpoints,
  partitions,
  growth,
  idle,
  memory,
}: Results): Goal[] {
  const goals: Goal[] = []
  const judge = (goal: string, value: number | null | undefined, sign: '≥' | '≤', target: number) => {
    if (value === null || value === undefined) return
    goals.push({
      goal,
      target: `${sign} ${target}`,
      value,
      met: sign === '≥' ? value >= target : value <= target,
    })
  }
  const ratios = throughput?.ratios.oneProcess
  const own = throughput?.systems.find(({ name }) => name === 'Sagapost')
  judge('deliveries/s, to graphile-worker', ratios?.graphileWorker.median, '≥', 1.2)
  judge('the same, vacuumed before each turn', ratios?.graphileWorkerVacuumed.median, '≥', 1.2)
  judge('deliveries/s, to pg-boss', ratios?.pgBoss.median, '≥', 3)
  judge('deliveries/s, to the bare limit', ratios?.bareLimit.median, '≥', 0.45)
  judge('PostgreSQL CPU per delivery, ms', own?.postgresCpuMs?.median, '≤', 0.25)
  judge('WAL per delivery, bytes', own?.walBytes?.median, '≤', 3_500)
  const atTen = latency?.find(({ perSecond }) => perSecond === 10)
  judge('latency at 10 events/s, p50, ms', atTen?.p50, '≤', 15)
  judge('latency at 10 events/s, p99, ms', atTen?.p99, '≤', 60)
  judge('single posts, to one commit for each', ingestion?.groupCommitGain.median, '≥', 5)
  judge('single posts with a key, to one commit for each', ingestion?.groupCommitGainKeyed.median, '≥', 5)
  judge('memory of the router in a large fan-out, MB', largeFanOut?.routerMb, '≤', 200)
  judge(
    'routing of a lone event meanwhile, p99 (most, of fewer than 1,000), ms',
    largeFanOut?.loneMs.p99 ?? largeFanOut?.loneMs.max,
    '≤',
    1_000,
  )
  for (const { neighbour, p99Ratio } of isolation?.neighbours ?? []) {
    judge(`p99 beside a ${neighbour} endpoint, to alone`, p99Ratio, '≤', neighbour === 'hanging' ? 2 : 3)
  }
  const alone = endpoints?.without.alone ?? Number.NaN
  const toAlone = (rate: number | undefined) => (rate === undefined ? null : rate / alone)
  judge('many new endpoints, to one, deliveries/s', toAlone(endpoints?.without.cold), '≥', 0.33)
  judge('the same once they have answered', toAlone(endpoints?.without.warm), '≥', 0.67)
  judge('many new endpoints beside 400 that hang', toAlone(endpoints?.withHanging.cold), '≥', 0.33)
  judge('the same once they have answered', toAlone(endpoints?.withHanging.warm), '≥', 0.67)
  const [few, many] = partitions ?? []
  judge(`PostgreSQL idle with ${many?.ranges} ranges, % of a core`, many?.idlePercent, '≤', 2)
  judge('a lone event with them, p95, to few', ratioOf(many?.loneMs.p95, few?.loneMs.p95), '≤', 1.5)
  judge('deliveries/s with them, to few', ratioOf(many?.perSecond, few?.perSecond), '≥', 0.9)
  judge('deliveries/s on grown tables, to empty', growth?.throughputRatio.median, '≥', 0.85)
  judge('claim p99 on grown tables, to empty', growth?.claimP99Ratio, '≤', 2)
  const { nodePercent = null, postgresPercent = null } = idle ?? {}
  judge(
    'idle, % of a core',
    nodePercent === null || postgresPercent === null ? null : nodePercent + postgresPercent,
    '≤',
    2,
  )
  judge('memory after a long run, to before', memory?.growthRatio, '≤', 1.1)
  return goals
}

function ratioOf(value: number | null | undefined, base: number | null | undefined): number | null {
  return typeof value === 'number' && typeof base === 'number' ? value / base : null
}
