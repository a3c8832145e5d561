/**
 * Where the time of a delivery goes: PostgreSQL's statements by pg_stat_statements (with their planning, WAL and
 * buffers), and the functions of Sagapost's process by Node's profiler.
 *
 *   npm run bench:profile -- --deliveries 20000
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openBench } from './harness/open-bench.js'
import { prepareSagapost } from './harness/prepare-sagapost.js'
import { readOptions } from './harness/read-options.js'
import { runRound } from './harness/run-round.js'
import { startOneProcess } from './harness/start-sagapost.js'
import { printTable, show } from './report/print-table.js'
import { type CpuProfile, sumProfile } from './report/sum-profile.js'

const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const
const WARM_UP = 3_000
const TOP = 25
const STATEMENT_CHARS = 64

/** Times are of the clock, so on a busy machine they count waiting for a core as well. */
const readStatements = `
  SELECT calls::float8, rows::float8, total_exec_time AS "execMs", total_plan_time AS "planMs", wal_bytes::float8 AS "walBytes",
         (shared_blks_hit + shared_blks_read)::float8 AS buffers, toplevel, regexp_replace(query, '\\s+', ' ', 'g') AS query
  FROM pg_stat_statements
  WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  ORDER BY total_exec_time + total_plan_time DESC`

interface Statement {
  calls: number
  rows: number
  execMs: number
  planMs: number
  walBytes: number
  buffers: number
  toplevel: boolean
  query: string
}

const { values } = parseArgs({ options: { deliveries: { type: 'string', default: '20000' } } })
const deliveries = Number(values.deliveries)
const profiles = await mkdtemp(join(tmpdir(), 'sagapost-profile-'))
const options = readOptions(['--profile', profiles])
if (!options) throw new Error('no options')
const { bench, close } = await openBench(options, {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  'pg_stat_statements.track_planning': 'on',
})
try {
  const database = await prepareSagapost(
    bench,
    'profiled',
    TYPES.map((eventType) => ({ eventType, path: `/${eventType}` })),
  )
  await database.pool.query('CREATE EXTENSION pg_stat_statements')
  const system = await startOneProcess(bench, 'Sagapost', database, { types: TYPES })
  await runRound(bench, system, WARM_UP)
  await database.pool.query('ANALYZE')
  await database.pool.query('SELECT pg_stat_statements_reset()')
  const round = await runRound(bench, system, deliveries)
  const { rows } = await database.pool.query<Statement>(readStatements)
  await system.stop()
  await database.check()
  printStatements(rows)
  const [file] = (await readdir(profiles)).filter((name) => name.endsWith('.cpuprofile'))
  if (file) printFunctions(JSON.parse(await readFile(join(profiles, file), 'utf8')))
  console.log(
    `${deliveries} deliveries, ${round.perSecond.toFixed(0)}/s; per delivery: PostgreSQL ${show(round.postgresCpuMs, 3)} ms ` +
      `of CPU, node ${show(round.nodeCpuMs, 3)} ms, ${show(round.walBytes)} bytes of WAL`,
  )
} finally {
  await close()
  await rm(profiles, { recursive: true, force: true })
}

function printStatements(statements: readonly Statement[]): void {
  const each = (value: number, digits: number) => (value / deliveries).toFixed(digits)
  printTable(
    ['per delivery', 'calls', 'rows/call', 'exec ms', 'plan ms', 'WAL bytes', 'buffers', 'statement'],
    statements
      .slice(0, TOP)
      .map(({ calls, rows, execMs, planMs, walBytes, buffers, toplevel, query }) => [
        toplevel ? '' : 'in a function',
        each(calls, 4),
        (rows / calls).toFixed(1),
        each(execMs, 4),
        each(planMs, 4),
        each(walBytes, 0),
        each(buffers, 1),
        query.slice(0, STATEMENT_CHARS),
      ]),
  )
}

function printFunctions(profile: CpuProfile): void {
  const { totalMs, functions, folders } = sumProfile(profile)
  const share = (ms: number) => `${((ms / totalMs) * 100).toFixed(1)} %`
  printTable(
    ['function, by its own time', 'share', 'ms per delivery'],
    functions
      .slice(0, TOP)
      .map(({ name, ms }) => [name, share(ms), (ms / (deliveries + WARM_UP)).toFixed(4)]),
  )
  printTable(
    ['where', 'share', 'ms per delivery'],
    folders.slice(0, TOP).map(({ name, ms }) => [name, share(ms), (ms / (deliveries + WARM_UP)).toFixed(4)]),
  )
}
