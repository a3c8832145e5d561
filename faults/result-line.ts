import { execFileSync } from 'node:child_process'
import type { Finding } from './check/check-schedule.js'
import type { ScheduleResult } from './run-schedule.js'
import type { FaultKind } from './schedule/fault.js'
import type { Schedule } from './schedule/plan-schedule.js'

/** One line of faults/results/*.jsonl, which the report is made from. */
export interface ScheduleLine {
  kind: 'schedule'
  seed: number
  commit: string
  at: string
  tookMs: number
  phasesMs: ScheduleResult['phasesMs']
  disk: Schedule['disk']
  /** Those that were done, by kind. */
  faults: Partial<Record<FaultKind, number>>
  /** Those that could not be done, and why. */
  notRun: { kind: FaultKind; why: string }[]
  acknowledged: number
  completed: number
  deadLettered: number
  requeued: number
  duplicates: number
  bound: number
  recoveryMs: (number | null)[]
  answers: Record<string, number>
  violations: Finding[]
}

export function toLine({ seed, disk }: Schedule, result: ScheduleResult): ScheduleLine {
  const faults: Partial<Record<FaultKind, number>> = {}
  const notRun: ScheduleLine['notRun'] = []
  for (const { fault, outcome } of result.faults) {
    if (outcome.ran) faults[fault.kind] = (faults[fault.kind] ?? 0) + 1
    else notRun.push({ kind: fault.kind, why: outcome.why })
  }
  const { acknowledged, completed, deadLettered, requeued, duplicates, bound, recoveryMs, answers } = result
  return {
    kind: 'schedule',
    seed,
    commit: currentCommit(),
    at: new Date().toISOString(),
    tookMs: result.tookMs,
    phasesMs: result.phasesMs,
    disk,
    faults,
    notRun,
    acknowledged,
    completed,
    deadLettered,
    requeued,
    duplicates,
    bound,
    recoveryMs,
    answers,
    violations: result.findings,
  }
}

let known: string | undefined

/** Of the working tree; with a mark when it has changes that no commit holds. */
export function currentCommit(): string {
  known ??= readCommit()
  return known
}

function readCommit(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const isChanged = git('status', '--porcelain', '--untracked-files=no', 'src', 'migrations').trim() !== ''
    return `${git('rev-parse', '--short=10', 'HEAD').trim()}${isChanged ? '+' : ''}`
  } catch {
    return 'unknown'
  }
}
