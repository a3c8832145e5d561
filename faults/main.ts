/** `npm run test:faults`: attacks the promise that nothing is lost. See docs/internals/faults.md. */
import { type FaultOptions, readOptions, usage } from './read-options.js'
import { runSchedules } from './run-schedules.js'

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
    for (const stop of stops) await stop()
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
    const lines = await runSchedules({ options, say, onStop: (stop) => stops.add(stop) })
    const found = lines.filter(({ violations }) => violations.length > 0)
    say(
      `${lines.length} schedules, ${lines.reduce((sum, { acknowledged }) => sum + acknowledged, 0)} events, ${found.length} with violations`,
    )
    if (found.length > 0) process.exitCode = EXIT_FOUND
  } catch (error) {
    if (interrupted) return new Promise(() => {}) // the end comes with `close`
    throw error
  } finally {
    if (!interrupted) await close()
  }
}
