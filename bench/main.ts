/** `npm run bench`: what Sagapost does on this machine, beside the limit and two job queues. See docs/internals/performance.md. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openBench } from './harness/open-bench.js'
import { type BenchOptions, readOptions, usage } from './harness/read-options.js'
import { buildReport, type Results } from './report/build-report.js'
import { describeMachine } from './report/describe-machine.js'
import { drawReport } from './report/draw-report.js'
import { printReport } from './report/print-report.js'
import { runParts } from './run-parts.js'

const EXIT_INTERRUPTED = 130

function optionsOf(args: readonly string[]): BenchOptions | undefined {
  try {
    return readOptions(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

const options = optionsOf(process.argv.slice(2))
if (options) await run(options)
else console.log(usage)

async function run(options: BenchOptions): Promise<void> {
  const startedAt = new Date()
  const { bench, close } = await openBench(options)
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted) return
      interrupted = true
      bench.say('stopping')
      // The part under way fails when its processes end; its result is not awaited.
      void close().finally(() => process.exit(EXIT_INTERRUPTED))
    })
  }
  let results: Results
  try {
    results = await runParts(bench)
  } catch (error) {
    if (interrupted) return new Promise(() => {}) // the end comes with `close`
    throw error
  } finally {
    if (!interrupted) await close()
  }
  const report = buildReport({
    startedAt,
    tookS: (Date.now() - startedAt.getTime()) / 1000,
    options,
    machine: describeMachine(bench.postgres),
    results,
  })
  printReport(report)
  await mkdir(options.plotsFolder, { recursive: true })
  for (const { file, svg } of drawReport(report)) {
    await writeFile(join(options.plotsFolder, file), svg)
    console.log(`drawn: ${join(options.plotsFolder, file)}`)
  }
  if (options.jsonFile) {
    await writeFile(options.jsonFile, `${JSON.stringify(report, null, 2)}\n`)
    console.log(`written: ${options.jsonFile}`)
  }
}
