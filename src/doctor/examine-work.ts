import type pg from 'pg'
import {
  createBacklogCollector,
  listProcesses,
  type RunningProcess,
  type StageBacklog,
} from '../observability/index.js'
import { findSagasWithoutProcess } from './find-sagas-without-process.js'
import { type Finding, finding, fine } from './finding.js'

/** Work that waits longer than this at a stage is not being processed. */
const WAITING_S_MAX = 60
const BACKLOG_MS_MAX = 10_000

/** Which part takes work from a stage. */
const partOf: Partial<Record<StageBacklog['stage'], string>> = {
  routing: 'router',
  first_jobs: 'orchestrator',
  retries_due: 'orchestrator',
  claims: 'worker',
  leases_expired: 'cleaner',
  results: 'orchestrator',
  sagas_due: 'sagas',
}

/** The backlogs, and whether a process works on them. */
export async function examineWork(pool: pg.Pool): Promise<Finding[]> {
  const stages = await createBacklogCollector(pool, { timeLimitMs: BACKLOG_MS_MAX }).collect()
  const processes = (await listProcesses(pool)).filter(({ seenAt }) => seenAt !== null)
  const running = processes.filter(({ lost }) => !lost)
  const parts = new Set(running.flatMap((process) => process.parts))
  const waiting = (stages ?? []).filter(({ count }) => count > 0)
  return [
    ...examineProcesses(processes, running),
    ...(running.length === 0 && waiting.length === 0 && stages !== null
      ? [finding('processes', 'nothing_runs', 'no process is registered, and no work is waiting')]
      : []),
    ...examineParts(waiting, parts),
    ...(parts.has('sagas') ? await findSagasWithoutProcess(pool) : []),
    ...(stages === null
      ? [finding('backlog', 'check_timed_out', 'the backlog could not be read in time')]
      : examineBacklog(waiting, parts)),
  ]
}

function examineProcesses(
  processes: readonly RunningProcess[],
  running: readonly RunningProcess[],
): Finding[] {
  const found = processes
    .filter(({ lost }) => lost)
    .map(({ hostname, pid, parts, seenAt }) =>
      finding(
        'processes',
        'process_lost',
        `process ${pid} on ${hostname} (${parts.join(', ')}) last reported at ${seenAt?.toISOString()}`,
      ),
    )
  const versions = [...new Set(running.map(({ version }) => version))].sort()
  if (versions.length > 1)
    found.push(finding('processes', 'versions_differ', `releases ${versions.join(' and ')} are running`))
  if (found.length > 0 || running.length === 0) return found
  return [
    fine(
      'processes',
      `${running.length} running, with ${[...new Set(running.flatMap(({ parts }) => parts))].join(', ')}`,
    ),
  ]
}

function examineParts(waiting: readonly StageBacklog[], parts: ReadonlySet<string>): Finding[] {
  const missing = new Map<string, string[]>()
  for (const { stage, count, oldestAgeS } of waiting) {
    const part = partOf[stage]
    if (part === undefined || parts.has(part)) continue
    const what = `${stage}: ${count}, the oldest for ${Math.round(oldestAgeS ?? 0)} s`
    missing.set(part, [...(missing.get(part) ?? []), what])
  }
  return [...missing].map(([part, what]) =>
    finding(
      'processes',
      'part_not_running',
      `no process runs the part ${part} (${what.join('; ')})`,
      `Start one: sagapost serve, or sagapost serve --only ${part}`,
    ),
  )
}

function examineBacklog(waiting: readonly StageBacklog[], parts: ReadonlySet<string>): Finding[] {
  const found = waiting.flatMap(({ stage, count, oldestAgeS }) => {
    const part = partOf[stage]
    const detail = `${stage}: ${count}, the oldest for ${Math.round(oldestAgeS ?? 0)} s`
    if (stage === 'set_aside') return [finding('backlog', 'events_set_aside', detail)]
    if (stage === 'sagas_stuck') return [finding('backlog', 'sagas_stuck', detail)]
    const isLate = part !== undefined && parts.has(part) && (oldestAgeS ?? 0) > WAITING_S_MAX
    return isLate
      ? [
          finding(
            'backlog',
            'work_late',
            detail,
            `The log of the part ${part} says why; see also the checks schema, sessions and vacuum`,
          ),
        ]
      : []
  })
  if (found.length > 0) return found
  const stages = waiting.map(({ stage, count }) => `${count} ${stage}`)
  return [fine('backlog', stages.length > 0 ? `waiting: ${stages.join(', ')}` : 'no work is waiting')]
}
