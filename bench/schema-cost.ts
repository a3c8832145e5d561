/**
 * What the schema costs per delivery, on the database's side alone: CPU of the server's backend, WAL bytes
 * and time, for variants of the same schema. All variants take turns, round by round, on one server with
 * fsync on, so that a noisy machine treats them alike; medians over the rounds are printed.
 *
 *   npm run bench:schema -- --rounds 7 --deliveries 4000
 *   npm run bench:schema -- --failing --variants '^plain tables$|error'    # each fails once, and waits for its next try
 *   npm run bench:schema -- --stages --variants '^3 partitions$' --batch 40     # each stage by itself, prepared as the parts do
 */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { withSettings } from '../src/database/connect.js'
import { startEmbeddedPostgres, type WorkWindow } from '../src/database/index.js'
import { PreparingClient } from '../src/database/prepared.js'
import { pinnedPlans } from '../src/database/role-pool.js'
import { storeEvents } from '../src/delivery/index.js'
import { applyResults } from '../src/delivery/orchestrator/apply-results.js'
import { makeJobs } from '../src/delivery/orchestrator/make-jobs.js'
import { routeEvents } from '../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../src/delivery/router/subscription-cache.js'
import { claimJobs } from '../src/delivery/worker/claim-jobs.js'
import { reportResults } from '../src/delivery/worker/report-results.js'
import { readWorkWindow } from '../test/support/read-work-window.js'
import { defaultRetryPolicy } from '../test/support/retry-policy.js'
import { variantStatements, variants } from './schema-variants.js'

const PAYLOAD_BYTES = 550
const CLOCK_TICKS_PER_S = 100

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    deliveries: { type: 'string', default: '4000' },
    failing: { type: 'boolean', default: false },
    batch: { type: 'string', default: '200' },
    /** Prints what each stage costs; statements are prepared and plans are pinned, as in the parts' own connections. */
    stages: { type: 'boolean', default: false },
    /** A regular expression: only the variants with such a name. */
    variants: { type: 'string', default: '' },
  },
})
const measured = variants.filter(({ name }) => new RegExp(values.variants).test(name))
const rounds = Number(values.rounds)
const BATCH = Number(values.batch)
const deliveries = Math.ceil(Number(values.deliveries) / BATCH) * BATCH
const stageNames = ['store', 'route', 'make', 'claim', 'report', 'apply'] as const
type StageName = (typeof stageNames)[number]

interface Sample {
  cpuMs: number
  walBytes: number
  elapsedMs: number
  stageUs: Record<StageName, number>
}

const payloads = Array.from({ length: BATCH }, (_, index) => {
  const body = { order: index, note: '' }
  body.note = 'x'.repeat(PAYLOAD_BYTES - JSON.stringify(body).length)
  return JSON.stringify(body)
})

const allIds = { from: '0', to: '9223372036854775807' }
const everything: WorkWindow = {
  older: [],
  borders: [],
  fresh: { ...allIds, planned: allIds },
}

const folder = await mkdtemp(join(tmpdir(), 'sagapost-bench-'))
const server = await startEmbeddedPostgres({
  dataDir: join(folder, 'data'),
  settings: { max_wal_size: '8GB' },
})
const pools: pg.Pool[] = []
try {
  const admin = open(server.url)
  for (const [index] of measured.entries()) await admin.query(`CREATE DATABASE variant_${index}`)
  const runs = []
  for (const [index, variant] of measured.entries()) {
    const url = new URL(server.url)
    url.pathname = `variant_${index}`
    const pool = open(url.href)
    for (const statement of await variantStatements(variant)) await pool.query(statement)
    await pool.query(
      `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
       VALUES ('order.placed', 'https://receiver.example/', true, true)`,
    )
    const { rows } = await pool.query('SELECT pg_backend_pid() AS pid')
    runs.push({ variant, pool, pid: rows[0].pid as number, samples: [] as Sample[] })
    await deliver(pool, 2 * BATCH, variant.bounded, untimed)
    await pool.query('ANALYZE')
  }
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`round ${round + 1} of ${rounds}\n`)
    for (const run of runs) run.samples.push(await measure(run.pool, run.pid, run.variant.bounded))
  }
  const [first] = runs
  const base = first ? median(first.samples.map(({ cpuMs }) => cpuMs)) : 0
  console.log(
    `${deliveries} ${values.failing ? 'failing ' : ''}deliveries a round, ${rounds} rounds, PostgreSQL ${server.version}, medians per delivery\n`,
  )
  console.log('variant                            CPU ms   ratio   WAL bytes   per second')
  for (const { variant, samples } of runs) {
    const cpu = median(samples.map(({ cpuMs }) => cpuMs))
    const wal = median(samples.map(({ walBytes }) => walBytes))
    const elapsed = median(samples.map(({ elapsedMs }) => elapsedMs))
    console.log(
      `${variant.name.padEnd(32)} ${cpu.toFixed(3).padStart(8)} ${(cpu / base).toFixed(2).padStart(7)} ` +
        `${wal.toFixed(0).padStart(11)} ${(1000 / elapsed).toFixed(0).padStart(12)}`,
    )
  }
  if (values.stages) {
    console.log(`\nin batches of ${BATCH}, µs of the backend's CPU per delivery`)
    for (const { variant, samples } of runs) {
      const shown = stageNames.map((stage) => {
        return `${stage} ${median(samples.map(({ stageUs }) => stageUs[stage])).toFixed(1)}`
      })
      console.log(`${variant.name.padEnd(32)} ${shown.join('  ')}`)
    }
  }
} finally {
  await Promise.all(pools.map((pool) => pool.end()))
  await server.stop()
  await rm(folder, { recursive: true })
}

/** One connection each, kept: its backend's CPU is what is measured. */
function open(url: string): pg.Pool {
  const connection = values.stages
    ? { connectionString: withSettings(url, 'bench', pinnedPlans), Client: PreparingClient }
    : { connectionString: url }
  const pool = new pg.Pool({ ...connection, max: 1, idleTimeoutMillis: 0 })
  pool.on('error', () => {}) // a connection that the stopping server ends
  pools.push(pool)
  return pool
}

async function measure(pool: pg.Pool, pid: number, bounded: boolean): Promise<Sample> {
  const before = { cpu: cpuMs(pid), wal: await walPosition(pool), at: performance.now() }
  const stageUs = Object.fromEntries(stageNames.map((stage) => [stage, 0])) as Record<StageName, number>
  await deliver(pool, deliveries, bounded, async (stage, work) => {
    const startedAtNs = runNs(pid)
    const result = await work()
    stageUs[stage] += (runNs(pid) - startedAtNs) / 1000 / deliveries
    return result
  })
  return {
    stageUs,
    elapsedMs: (performance.now() - before.at) / deliveries,
    cpuMs: (cpuMs(pid) - before.cpu) / deliveries,
    walBytes: ((await walPosition(pool)) - before.wal) / deliveries,
  }
}

/** Plain tables have no ranges. */
async function boundedWindow(pool: pg.Pool): Promise<WorkWindow> {
  const { rows } = await pool.query('SELECT FROM sagapost.partitions LIMIT 1')
  return rows.length > 0 ? readWorkWindow(pool) : everything
}

type Timed = <Result>(stage: StageName, work: () => Promise<Result>) => Promise<Result>
function untimed<Result>(_: StageName, work: () => Promise<Result>): Promise<Result> {
  return work()
}

/** The whole way of BATCH events through the operations that the parts run, again and again. */
async function deliver(pool: pg.Pool, count: number, bounded: boolean, timed: Timed): Promise<void> {
  const cache = createSubscriptionCache()
  const window = bounded ? await boundedWindow(pool) : everything
  const range = window.fresh
  for (let done = 0; done < count; done += BATCH) {
    const events = payloads.map((payload) => ({ type: 'order.placed', payload }))
    await timed('store', () => storeEvents(pool, events))
    await timed('route', () => routeEvents(pool, cache, BATCH))
    await timed('make', () =>
      makeJobs(pool, { range, batchMax: BATCH, limit: defaultRetryPolicy.limit, retries: !values.stages }),
    )
    const claim = { range, batchMax: BATCH, leaseMs: 60_000, workerId: 'bench-1', except: [] }
    const { jobs } = await timed('claim', () => claimJobs(pool, claim))
    const reports = jobs.map(({ id, eventId, leaseToken }) => ({
      jobId: id,
      eventId,
      leaseToken,
      errorCode: values.failing ? 'http_500' : null,
      responseStatus: values.failing ? 500 : 200,
      retryAfterS: null,
      durationMs: 12,
      responseExcerpt: null,
    }))
    await timed('report', () => reportResults(pool, range, reports))
    const { results: applied } = await timed('apply', () =>
      applyResults(pool, { batchMax: BATCH, policy: defaultRetryPolicy, window: () => window }),
    )
    if (applied.length !== BATCH) throw new Error(`applied ${applied.length} results instead of ${BATCH}`)
  }
}

/** User and system time of the backend, from Linux's /proc. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_TICKS_PER_S
}

/** The same more finely, without the time that it waited. */
function runNs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])
}

async function walPosition(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
  )
  return rows[0].bytes
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
