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
  ingestion,
  isolation,
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
  judge('p99 beside an endpoint that hangs, to without', isolation?.p99Ratio, '≤', 2)
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
