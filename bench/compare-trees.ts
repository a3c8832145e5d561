/**
 * This tree against another one, in turns within one run: what a change is worth on a machine that varies by the hour. The
 * other tree is a copy with its packages and its `dist`; both publish, deliver and check by their own code and schema.
 *
 *   git worktree add ../before HEAD~5 && (cd ../before && npm ci)
 *   npm run bench:compare -- --with ../before --rounds 8 --seconds 2 [--separate]
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { interleaveRounds } from './harness/interleave-rounds.js'
import { openBench } from './harness/open-bench.js'
import { readOptions } from './harness/read-options.js'
import type { Round } from './harness/run-round.js'
import { summarise } from './harness/summarise-samples.js'
import { printTable } from './report/print-table.js'

const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const
const endpoints = TYPES.map((eventType) => ({ eventType, path: `/${eventType}` }))
const figures = [
  ['deliveries/s', 'perSecond', 0],
  ['PG CPU ms', 'postgresCpuMs', 3],
  ['node CPU ms', 'nodeCpuMs', 3],
  ['WAL bytes', 'walBytes', 0],
] as const

const { values } = parseArgs({
  options: {
    with: { type: 'string' },
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '2' },
    /** A process for each part, instead of one for all. */
    separate: { type: 'boolean', default: false },
  },
})
if (!values.with) throw new Error('--with FOLDER: the tree to compare with')
const options = readOptions(['--rounds', values.rounds, '--seconds', values.seconds])
if (!options) throw new Error('no options')

const { bench, close } = await openBench(options)
try {
  const before = await startTree('before', resolve(values.with))
  const now = await startTree('now', resolve(import.meta.dirname, '..'))
  const measured = await interleaveRounds(bench, [before, now])
  for (const { system } of measured) {
    await system.stop()
    await system.check()
  }
  const [then = [], since = []] = measured.map(({ rounds }) => rounds)
  printTable(
    ['', 'before', 'now', 'now to before, within each round'],
    figures.map(([name, figure, digits]) => {
      const ratio = summarise(since.map((round, at) => (round[figure] ?? NaN) / (then[at]?.[figure] ?? NaN)))
      return [
        name,
        summarise(valuesOf(then, figure)).median.toFixed(digits),
        summarise(valuesOf(since, figure)).median.toFixed(digits),
        `${ratio.median.toFixed(3)} (${ratio.min.toFixed(3)}–${ratio.max.toFixed(3)})`,
      ]
    }),
  )
} finally {
  await close()
}

async function startTree(name: string, folder: string) {
  const load = (file: string) => import(pathToFileURL(resolve(folder, 'bench/harness', file)).href)
  const { prepareSagapost }: typeof import('./harness/prepare-sagapost.js') =
    await load('prepare-sagapost.ts')
  const start: typeof import('./harness/start-sagapost.js') = await load('start-sagapost.ts')
  const database = await prepareSagapost(bench, name, endpoints)
  return values.separate
    ? start.startSeparateProcesses(bench, name, database, TYPES)
    : start.startOneProcess(bench, name, database, { types: TYPES })
}

function valuesOf(rounds: readonly Round[], figure: (typeof figures)[number][1]): number[] {
  return rounds.map((round) => round[figure]).filter((value) => value !== null)
}
