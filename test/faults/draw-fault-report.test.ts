import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { drawFaultReport } from '../../faults/report/draw-fault-report.js'
import { readResults } from '../../faults/report/read-results.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-fault-report-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const schedule = {
  kind: 'schedule',
  commit: '1111111111',
  at: '2026-11-16T13:34:55.751Z',
  tookMs: 1_800_000,
  faults: { kill: 2 },
  notRun: [{ kind: 'kill-at-mark', why: 'claim-jobs was not reached' }],
  acknowledged: 5_000,
  completed: 6_000,
  deadLettered: 40,
  duplicates: 3,
  bound: 12,
  recoveryMs: [1_000, null, 6_000],
  answers: { '202': 278, 'no answer': 3 },
  violations: [],
}
const recovery = {
  kind: 'recovery',
  commit: '2222222222',
  at: '2026-11-17T10:00:00.000Z',
  what: 'crash-postgres',
  limitMs: 5_000,
  acknowledged: 5_000,
  violations: [],
}

it('[O6] the fault report sums up all runs, with their dates, seeds and commits', () => {
  const lines = [
    { ...schedule, seed: 11 },
    { ...schedule, seed: 10 },
    { ...schedule, seed: 30, violations: [{ name: 'acknowledged_event_is_stored', detail: '1 of 5000' }] },
    { ...recovery, awayMs: 3_000, tookMs: 2_000 },
    { ...recovery, awayMs: 0, tookMs: 6_000 },
  ]
  writeFileSync(join(folder, 'runs.jsonl'), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  const page = drawFaultReport(readResults(pathToFileURL(`${folder}/`)))
  for (const part of [
    'Runs of 2026-11-16 to 2026-11-17.',
    'seeds 10–11, 30.',
    '- schedules: 3\n',
    '- events acknowledged: 15,000\n',
    '- events lost: 1\n',
    '- schedules that violated an invariant: 1\n',
    '- hours: 1.5\n',
    '| 30 | 1111111111 | acknowledged_event_is_stored | 1 of 5000 |',
    '`kill` 6, `kill-at-mark` 0 (3 not run, its statement was not reached)',
    '`202` 834, `no answer` 9',
    '6 times, median 3.5 s, p95 6.0 s, at most 6.0 s; 3 within 5 s',
    'down for 0, 3 s',
    '| `crash-postgres` | 2 | 4.0 s (2.0 s to 6.0 s) | 5.0 s | 1 | 0 |',
  ]) {
    expect(page).toContain(part)
  }
})

it('[O6] a clone without results cannot overwrite the fault report', () => {
  expect(() => readResults(pathToFileURL(`${folder}/none/`))).toThrow('there are no results')
})
