import type { Finding } from '../check/check-schedule.js'
import { measureTakeUp } from '../check/measure-recovery.js'
import { currentCommit } from '../result-line.js'
import { type Baseline, nothing, runSchedule } from '../run-schedule.js'
import type { Run } from '../run-schedules.js'
import type { Fault } from '../schedule/fault.js'
import { LEASE_MS } from '../schedule/plan-schedule.js'
import { openSystem } from '../system/open-system.js'

/** From PostgreSQL's first connection to the first delivery. */
const RESUME_MS_MAX = 5_000
const TAKE_UP_LEASES_MAX = 1.25
const AT_MS = 3_000
const ROUNDS = 5
const AWAY_MS = [0, 1_000, 3_000, 8_000, 15_000] as const

export interface RecoveryLine {
  kind: 'recovery'
  commit: string
  at: string
  what: 'crash-postgres' | 'promote-standby' | 'orphaned-jobs'
  /** How long PostgreSQL was away. */
  awayMs: number
  /** Null: nothing was left to deliver. */
  tookMs: number | null
  limitMs: number
  acknowledged: number
  violations: Finding[]
}

/** One fault at a time under load, and how long it takes until deliveries go on. */
export async function runRecovery(
  { options, say, onStop }: Run,
  onLine: (line: RecoveryLine) => Promise<void>,
): Promise<RecoveryLine[]> {
  const system = await openSystem({ disk: 'disk', onStop })
  const lines: RecoveryLine[] = []
  let before: Baseline = nothing
  let seed = options.seed
  const run = async (what: RecoveryLine['what'], fault: Fault) => {
    const { result, after } = await runSchedule(
      system,
      { seed: seed++, disk: 'disk', faults: [fault] },
      { events: options.events, before },
    )
    before = after
    const isOrphan = what === 'orphaned-jobs'
    const line: RecoveryLine = {
      kind: 'recovery',
      commit: currentCommit(),
      at: new Date().toISOString(),
      what,
      awayMs: isOrphan ? 0 : fault.lengthMs,
      tookMs: isOrphan ? await measureTakeUp(system) : (result.recoveryMs[0] ?? null),
      limitMs: isOrphan ? LEASE_MS * TAKE_UP_LEASES_MAX : RESUME_MS_MAX,
      acknowledged: result.acknowledged,
      violations: result.findings,
    }
    say(
      `${what}, away ${line.awayMs} ms: ${line.tookMs} ms (limit ${line.limitMs}), ${result.findings.length} violations`,
    )
    lines.push(line)
    await onLine(line)
  }
  for (let n = 0; n < ROUNDS; n++) {
    await run('crash-postgres', { kind: 'crash-postgres', atMs: AT_MS, lengthMs: AWAY_MS[n] ?? 0 })
    // Its first report is on its way: all that it has claimed is under lease, for nearly the whole of it.
    await run('orphaned-jobs', {
      kind: 'kill-at-mark',
      atMs: AT_MS,
      lengthMs: 2 * LEASE_MS,
      target: 'worker-1',
      mark: 'report-results',
      moment: 'before',
      count: 1,
    })
    await run('promote-standby', { kind: 'promote-standby', atMs: AT_MS, lengthMs: 0 })
  }
  await system.close()
  return lines
}
