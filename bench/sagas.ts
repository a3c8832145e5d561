/** `npm run bench:sagas`: sagas of three steps, beside DBOS. See docs/internals/decisions.md. */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { openBench } from './harness/open-bench.js'
import { type BenchOptions, readOptions } from './harness/read-options.js'
import { PERCENTILE_SAMPLES_MIN } from './harness/summarise-samples.js'
import { describeMachine } from './report/describe-machine.js'
import { measureSagas, type SagaFigures } from './sagas/measure-sagas.js'
import { measureSleepers } from './sagas/measure-sleepers.js'
import { printSagas } from './sagas/print-sagas.js'
import { type SagaSystem, startDbos, startSagapost } from './sagas/start-systems.js'

const usage = `npm run bench:sagas -- [options]

  --quick             fewer and shorter rounds
  --concurrency a,b   sagas at once (1,16,64)
  --rounds n          interleaved turns of every system (7; quick: 3)
  --seconds s         about so long each turn (5; quick: 2)
  --alone             without DBOS
  --sleeping n        instead: what n sleeping sagas cost, and how late they wake
  --profile FOLDER    where the CPU profile of Sagapost's process goes
  --json FILE         the results for machines`

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    quick: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '1,16,64' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    alone: { type: 'boolean', default: false },
    sleeping: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'string' },
  },
})
if (values.help) console.log(usage)
else if (values.sleeping) await runSleepers(Number(values.sleeping))
else await run()

async function runSleepers(count: number): Promise<void> {
  if (!(Number.isInteger(count) && count >= 1)) {
    console.error(`--sleeping must be a whole number from 1 on\n\n${usage}`)
    process.exit(2)
  }
  const { bench, close } = await openBench(readOptions([]) as BenchOptions)
  try {
    await measureSleepers(bench, count)
  } finally {
    await close()
  }
}

async function run(): Promise<void> {
  const rounds = toNumber('rounds', values.rounds ?? (values.quick ? '3' : '7'))
  const roundS = toNumber('seconds', values.seconds ?? (values.quick ? '2' : '5'))
  const levels = values.concurrency.split(',').map((level) => toNumber('concurrency', level))
  const { bench, close } = await openBench(readOptions([]) as BenchOptions)
  const figures: SagaFigures[] = []
  try {
    const profiled = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : []
    const systems: SagaSystem[] = [await startSagapost(bench, profiled)]
    if (!values.alone) systems.push(await startDbos(bench))
    for (const concurrency of levels) {
      // Latency percentiles are reported for one saga at a time.
      const sagasMin = concurrency === 1 ? PERCENTILE_SAMPLES_MIN : 0
      figures.push(...(await measureSagas(bench, systems, concurrency, { rounds, roundS, sagasMin })))
    }
  } finally {
    await close()
  }
  const machine = describeMachine(bench.postgres)
  printSagas(figures, machine)
  if (values.json) {
    await writeFile(values.json, `${JSON.stringify({ machine, rounds, roundS, figures }, null, 2)}\n`)
    console.log(`written: ${values.json}`)
  }
}

function toNumber(name: string, text: string): number {
  const value = Number(text)
  if (text === '' || !(value > 0 && value <= 10_000)) {
    console.error(`--${name} must be a number from 1 to 10000, not "${text}"\n\n${usage}`)
    process.exit(2)
  }
  return value
}
