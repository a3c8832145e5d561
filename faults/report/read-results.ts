import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ScheduleLine } from '../result-line.js'
import type { HostileLine } from '../scenarios/run-hostile.js'
import type { RecoveryLine } from '../scenarios/run-recovery.js'

export interface Results {
  schedules: ScheduleLine[]
  recoveries: RecoveryLine[]
  hostile: HostileLine[]
}

/** All lines of all runs, in the order of their files. Throws where there is none: a report of nothing would replace one. */
export function readResults(folder: URL): Results {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.jsonl')) : []
  if (files.length === 0) throw new Error(`there are no results (*.jsonl) in ${fileURLToPath(folder)}`)
  const lines = files
    .sort()
    .flatMap((file) => readFileSync(new URL(file, folder), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ScheduleLine | RecoveryLine | HostileLine)
  return {
    schedules: lines.filter((line) => line.kind === 'schedule'),
    recoveries: lines.filter((line) => line.kind === 'recovery'),
    hostile: lines.filter((line) => line.kind === 'hostile'),
  }
}
