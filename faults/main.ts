/** `npm run test:faults`: attacks the promise that nothing is lost. See docs/internals/faults.md. */
import { appendFile, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type FaultOptions, readOptions, usage } from './read-options.js'
import { type Run, runSchedules } from './run-schedules.js'
import { runHostile } from './scenarios/run-hostile.js'
import { runRecovery } from './scenarios/run-recovery.js'

const EXIT_FOUND = 1
const EXIT_USAGE = 2
const EXIT_INTERRUPTED = 130

function optionsOf(args: readonly string[]): FaultOptions | undefined {
  try {
    return readOptions(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(EXIT_USAGE)
  }
}

const options = optionsOf(process.argv.slice(2))
if (options) await run(options)
else console.log(usage)

async function run(options: FaultOptions): Promise<void> {
  const startedAt = performance.now()
  const stops = new Set<() => Promise<unknown>>()
  const close = async () => {
    for (const stop of [...stops].reverse()) await stop()
  }
  const say = (line: string) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(5)
    process.stderr.write(`${seconds} s  ${line}\n`)
  }
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted) return
      interrupted = true
      say('stopping')
      void close().finally(() => process.exit(EXIT_INTERRUPTED))
    })
  }
  try {
    const isGood = await runScenario({ options, say, onStop: (stop) => stops.add(stop) })
    if (!isGood) process.exitCode = EXIT_FOUND
  } catch (error) {
    if (interrupted) return new Promise(() => {}) // the end comes with `close`
    throw error
  } finally {
    if (!interrupted) await close()
  }
}

/** False when something was found. */
async function runScenario(run: Run): Promise<boolean> {
  const { options, say } = run
  const record = async (line: object) => {
    if (options.json) console.log(JSON.stringify(line))
    if (!options.resultsFile) return
    await mkdir(dirname(options.resultsFile), { recursive: true })
    await appendFile(options.resultsFile, `${JSON.stringify(line)}\n`)
  }
  switch (options.scenario) {
    case 'hostile': {
      const line = await runHostile(run)
      await record(line)
      const { alone, burst, later } = line
      for (const [when, { latencyMs, memoryMb }] of Object.entries({ alone, burst, later })) {
        say(
          `${when}: p50 ${latencyMs.p50?.toFixed(1)} ms, p99 ${latencyMs.p99?.toFixed(1)} ms, ${memoryMb} MB`,
        )
      }
      return [burst, later].every(
        ({ latencyMs, memoryMb }) =>
          (latencyMs.p99 ?? Number.POSITIVE_INFINITY) <= 2 * (alone.latencyMs.p99 ?? 0) &&
          memoryMb <= alone.memoryMb + 100,
      )
    }
    case 'recovery': {
      const lines = await runRecovery(run, record)
      return lines.every(
        ({ tookMs, limitMs, violations }) => (tookMs ?? 0) <= limitMs && violations.length === 0,
      )
    }
    case 'schedules': {
      const lines = await runSchedules(run, record)
      const found = lines.filter(({ violations }) => violations.length > 0)
      const acknowledged = lines.reduce((sum, line) => sum + line.acknowledged, 0)
      say(
        `${lines.length} schedules, ${acknowledged} events acknowledged, ${found.length} schedules with violations`,
      )
      return found.length === 0
    }
  }
}
