import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import type { ScheduleLine } from '../../faults/result-line.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Two schedules with twelve kinds of faults between them; `npm run test:faults` runs as many others as one likes. */
const FIRST_SEED = 43
const SCHEDULES = 2
const EVENTS = 1_500
/** Longer than all that the harness itself waits for, however much of it is in vain: it says then what was stuck. */
const TIMEOUT_MS = 1_500_000

it(
  '[S22, E3, R1, J5, O6] nothing is lost while processes, connections, PostgreSQL and receivers fail',
  async () => {
    const options = ['--seed', FIRST_SEED, '--schedules', SCHEDULES, '--events', EVENTS, '--json'].map(String)
    const harness = spawn(process.execPath, ['--import', 'tsx', 'faults/main.ts', ...options], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void harness.kill())
    const [output, [code]] = await Promise.all([text(harness.stdout), once(harness, 'close')])
    const lines: ScheduleLine[] = output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
    expect(lines.map(({ violations }) => violations)).toEqual([[], []])
    expect(code).toBe(0)
    for (const { acknowledged, completed, duplicates, bound } of lines) {
      expect(acknowledged).toBeGreaterThanOrEqual(EVENTS)
      expect(completed).toBeGreaterThan(acknowledged)
      expect(duplicates).toBeLessThanOrEqual(bound)
    }
    const kinds = new Set(lines.flatMap(({ faults }) => Object.keys(faults)))
    expect(kinds).toContain('kill')
    expect(kinds).toContain('crash-at-mark')
  },
  TIMEOUT_MS,
)
