import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { applyFault, type FaultOutcome } from './apply/apply-fault.js'
import {
  checkSchedule,
  type Finding,
  type ScheduleCheck,
  type Terminals,
  type Totals,
} from './check/check-schedule.js'
import { untilSettled } from './check/until-settled.js'
import { createTally } from './load/load-tally.js'
import { requeueDeadLetters } from './load/requeue-dead-letters.js'
import { runLoad } from './load/run-load.js'
import type { Fault } from './schedule/fault.js'
import type { Schedule } from './schedule/plan-schedule.js'
import type { FaultSystem } from './system/fault-system.js'
import { untilServing } from './system/until-serving.js'

/** After the last fault: to publish what could not be, and to come to an end. */
const PUBLISH_MS_MAX = 120_000
const SETTLE_MS_MAX = 120_000

/** Where the schedule before has left the system; the first one begins with nothing. */
export interface Baseline {
  totals: Totals
  terminals: Terminals | undefined
}

export interface ScheduleResult extends Totals, Pick<ScheduleCheck, 'findings' | 'recoveryMs'> {
  faults: { fault: Fault; outcome: FaultOutcome }[]
  answers: Record<string, number>
  tookMs: number
  /** How long each part of it took. */
  phasesMs: Record<'faults' | 'load' | 'settling' | 'requeue' | 'check', number>
}

export interface ScheduleRun {
  result: ScheduleResult
  /** For the schedule after. */
  after: Baseline
}

export const nothing: Baseline = {
  totals: { acknowledged: 0, completed: 0, deadLettered: 0, requeued: 0, duplicates: 0, bound: 0 },
  terminals: undefined,
}

/** Load and faults together; then everything heals, comes to its end, and is checked. */
export async function runSchedule(
  system: FaultSystem,
  schedule: Schedule,
  { events, before }: { events: number; before: Baseline },
): Promise<ScheduleRun> {
  const startedAt = performance.now()
  let phaseAt = startedAt
  const phase = () => {
    const tookMs = Math.round(performance.now() - phaseAt)
    phaseAt = performance.now()
    return tookMs
  }
  Object.assign(system, { accepted: [], unexpectedEnds: [], mended: false })
  const giveUp = new AbortController()
  const load = runLoad(system, schedule, events, giveUp.signal)
  const faults = await Promise.all(schedule.faults.map((fault) => applyInTime(system, fault)))

  const faultsMs = phase()
  const findings: Finding[] = []
  const timer = setTimeout(() => giveUp.abort(), PUBLISH_MS_MAX)
  const tally = await load.finally(() => clearTimeout(timer))
  if (giveUp.signal.aborted)
    findings.push({ name: 'publishers_get_through', detail: 'some never were acknowledged' })
  const loadMs = phase()
  await untilServing(system).catch((error: Error) =>
    findings.push({ name: 'processes_serve_again', detail: error.message }),
  )
  const settle = async (when: string) => {
    const left = await untilSettled(system, SETTLE_MS_MAX)
    if (left !== undefined) findings.push({ name: 'everything_ends', detail: `${when}: ${left}` })
  }
  await settle('after the faults')
  const settlingMs = phase()
  system.mended = true
  const agent = new Agent()
  const http = { system, agent, tally: createTally(), signal: AbortSignal.timeout(PUBLISH_MS_MAX) }
  await requeueDeadLetters(http, `${schedule.seed}-after`)
  await agent.destroy()
  await settle('after the requeue')
  const requeueMs = phase()

  const { totals, terminals, recoveryMs, ...check } = await checkSchedule(system, tally, before.terminals)
  return {
    after: { totals, terminals },
    result: {
      ...difference(totals, before.totals),
      findings: [...findings, ...check.findings],
      recoveryMs,
      faults,
      answers: Object.fromEntries(tally.answers),
      phasesMs: { faults: faultsMs, load: loadMs, settling: settlingMs, requeue: requeueMs, check: phase() },
      tookMs: Math.round(performance.now() - startedAt),
    },
  }
}

function difference(now: Totals, before: Totals): Totals {
  return {
    acknowledged: now.acknowledged - before.acknowledged,
    completed: now.completed - before.completed,
    deadLettered: now.deadLettered - before.deadLettered,
    requeued: now.requeued - before.requeued,
    duplicates: now.duplicates - before.duplicates,
    bound: now.bound - before.bound,
  }
}

async function applyInTime(system: FaultSystem, fault: Fault): Promise<ScheduleResult['faults'][number]> {
  await sleep(fault.atMs)
  try {
    return { fault, outcome: await applyFault(system, fault) }
  } catch (error) {
    return { fault, outcome: { ran: false, why: `it failed: ${(error as Error).message}` } }
  }
}
