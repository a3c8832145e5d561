import type { FaultOptions } from './read-options.js'
import { type ScheduleLine, toLine } from './result-line.js'
import { type Baseline, nothing, runSchedule } from './run-schedule.js'
import { planSchedule } from './schedule/plan-schedule.js'
import type { FaultSystem } from './system/fault-system.js'
import { openSystem } from './system/open-system.js'

/** Schedules per database: the checks read all of it, and would take longer and longer. */
const SCHEDULES_PER_SYSTEM = 10

export interface Run {
  options: FaultOptions
  say(line: string): void
  /** Whatever is started is stopped by this, however the run ends. */
  onStop(stop: () => Promise<unknown>): void
}

/** One schedule after the other, on a system that lives on as long as it fits the next one. Returns all lines. */
export async function runSchedules(
  { options, say, onStop }: Run,
  onLine: (line: ScheduleLine) => Promise<void>,
): Promise<ScheduleLine[]> {
  const lines: ScheduleLine[] = []
  const deadline = performance.now() + options.minutes * 60_000
  const plan = (n: number) => planSchedule(options.seed + n, options.only)
  const isLast = (n: number) => n + 1 >= options.schedules || performance.now() >= deadline
  let system: FaultSystem | undefined
  let before: Baseline = nothing
  let used = 0

  for (let n = 0, over = false; !over; n++) {
    const schedule = plan(n)
    system ??= await openSystem({ disk: schedule.disk, onStop })
    const { result, after } = await runSchedule(system, schedule, { events: options.events, before })
    before = after
    used += 1
    over = isLast(n)
    const line = toLine(schedule, result)
    const keep = options.keep && line.violations.length > 0
    over ||= keep
    // What was found would be found again by every schedule after.
    const isSpoilt = line.violations.length > 0
    if (over || isSpoilt || used >= SCHEDULES_PER_SYSTEM || plan(n + 1).disk !== schedule.disk) {
      const { unclean } = await system.close({ keep })
      if (keep) say(`logs are in ${system.folder}`)
      if (unclean.length > 0) line.violations.push({ name: 'stops_cleanly', detail: unclean.join(', ') })
      system = undefined
      before = nothing
      used = 0
    }
    lines.push(line)
    say(describe(line))
    await onLine(line)
  }
  return lines
}

function describe(line: ScheduleLine): string {
  const faults = Object.entries(line.faults).map(([kind, times]) =>
    times === 1 ? kind : `${kind} × ${times}`,
  )
  const notRun = line.notRun.map(({ kind, why }) => `${kind} (${why})`)
  return [
    `seed ${line.seed}: ${(line.tookMs / 1000).toFixed(1)} s (${Object.values(line.phasesMs)
      .map((ms) => (ms / 1000).toFixed(0))
      .join('+')}), ${line.acknowledged} acknowledged, ${line.completed} completed,`,
    `${line.deadLettered} dead, ${line.requeued} requeued, ${line.duplicates} duplicates (bound ${line.bound});`,
    faults.join(', ') || 'no fault',
    ...(notRun.length > 0 ? [`; not run: ${notRun.join(', ')}`] : []),
    ...(line.recoveryMs.length > 0 ? [`; recovery ${line.recoveryMs.join(', ')} ms`] : []),
    ...line.violations.map(({ name, detail }) => `\n         VIOLATION ${name}: ${detail}`),
  ].join(' ')
}
