import { readdirSync, readFileSync } from 'node:fs'
import type { ScheduleLine } from '../result-line.js'
import type { HostileLine } from '../scenarios/run-hostile.js'
import type { RecoveryLine } from '../scenarios/run-recovery.js'

export interface Results {
  schedules: ScheduleLine[]
  recoveries: RecoveryLine[]
  hostile: HostileLine[]
}

/** All lines of all runs, in the order of their files. */
export function readResults(folder: URL): Results {
  const lines = readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
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
