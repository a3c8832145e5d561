/**
 * What the schema costs per delivery, on the database's side alone: CPU of the server's backend, WAL bytes
 * and time, for variants of the same schema. All variants take turns, round by round, on one server with
 * fsync on, so that a noisy machine treats them alike; medians over the rounds are printed.
 *
 *   npm run bench:schema -- --rounds 7 --deliveries 4000
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/database/index.js'
import { hotPath } from './hot-path-statements.js'
import { variantStatements, variants } from './schema-variants.js'

const BATCH = 200
const PAYLOAD_BYTES = 550
const CLOCK_TICKS_PER_S = 100

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, deliveries: { type: 'string', default: '4000' } },
})
const rounds = Number(values.rounds)
const deliveries = Number(values.deliveries)

interface Sample {
  cpuMs: number
  walBytes: number
  elapsedMs: number
}

const payloads = Array.from({ length: BATCH }, (_, index) => {
  const body = { order: index, note: '' }
  body.note = 'x'.repeat(PAYLOAD_BYTES - JSON.stringify(body).length)
  return JSON.stringify(body)
})

const folder = await mkdtemp(join(tmpdir(), 'sagapost-bench-'))
const server = await startEmbeddedPostgres({
  dataDir: join(folder, 'data'),
  settings: { max_wal_size: '8GB' },
})
const clients: pg.Client[] = []
try {
  const admin = await open(server.url)
  for (const [index] of variants.entries()) await admin.query(`CREATE DATABASE variant_${index}`)
  const runs = []
  for (const [index, variant] of variants.entries()) {
    const url = new URL(server.url)
    url.pathname = `variant_${index}`
    const client = await open(url.href)
    for (const statement of await variantStatements(variant)) await client.query(statement)
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    runs.push({ variant, client, pid: rows[0].pid as number, samples: [] as Sample[] })
    await deliver(client, 2 * BATCH, variant.bounded)
    await client.query('ANALYZE')
  }
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`round ${round + 1} of ${rounds}\n`)
    for (const run of runs) run.samples.push(await measure(run.client, run.pid, run.variant.bounded))
  }
  const [first] = runs
  const base = first ? median(first.samples.map(({ cpuMs }) => cpuMs)) : 0
  console.log(
    `${deliveries} deliveries a round, ${rounds} rounds, PostgreSQL ${server.version}, medians per delivery\n`,
  )
  console.log('variant                        CPU ms   ratio   WAL bytes   per second')
  for (const { variant, samples } of runs) {
    const cpu = median(samples.map(({ cpuMs }) => cpuMs))
    const wal = median(samples.map(({ walBytes }) => walBytes))
    const elapsed = median(samples.map(({ elapsedMs }) => elapsedMs))
    console.log(
      `${variant.name.padEnd(28)} ${cpu.toFixed(3).padStart(8)} ${(cpu / base).toFixed(2).padStart(7)} ` +
        `${wal.toFixed(0).padStart(11)} ${(1000 / elapsed).toFixed(0).padStart(12)}`,
    )
  }
} finally {
  await Promise.all(clients.map((client) => client.end()))
  await server.stop()
  await rm(folder, { recursive: true })
}

async function open(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  clients.push(client)
  return client
}

async function measure(client: pg.Client, pid: number, bounded: boolean): Promise<Sample> {
  const before = { cpu: cpuMs(pid), wal: await walPosition(client), at: performance.now() }
  await deliver(client, deliveries, bounded)
  return {
    elapsedMs: (performance.now() - before.at) / deliveries,
    cpuMs: (cpuMs(pid) - before.cpu) / deliveries,
    walBytes: ((await walPosition(client)) - before.wal) / deliveries,
  }
}

async function deliver(client: pg.Client, count: number, bounded: boolean): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    const { rows } = await client.query('SELECT last_value FROM sagapost.events_id_seq')
    const newest = Number(rows[0].last_value)
    const range = bounded ? [newest - 10 * BATCH, newest + 10 * BATCH] : [0, Number.MAX_SAFE_INTEGER]
    await client.query(hotPath.publish, [payloads])
    await client.query(hotPath.route, [BATCH])
    await client.query(hotPath.makeFirstJobs, [...range, BATCH])
    const claimed = await client.query(hotPath.claim, [...range, BATCH])
    const column = (name: string) => claimed.rows.map((row) => row[name])
    await client.query(hotPath.readPayloads, [column('event_id'), ...range])
    await client.query(hotPath.report, [...range, column('id'), column('event_id'), column('lease_token')])
    const applied = await client.query(hotPath.apply, [...range, BATCH])
    if (applied.rowCount !== BATCH) throw new Error(`applied ${applied.rowCount} results instead of ${BATCH}`)
  }
}

/** User and system time of the backend, from Linux's /proc. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_TICKS_PER_S
}

async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
  )
  return rows[0].bytes
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
