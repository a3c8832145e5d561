import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { MeasuredSystem } from './measured-system.js'
import type { Bench } from './open-bench.js'
import { clockMs } from './read-clock.js'
import { cpuSeconds, withChildren } from './read-usage.js'

/** How exactly the end of a round is known. */
const POLL_MS = 5
/** A round that has not come to its end by then never will. */
const ROUND_MS_MAX = 300_000

/** One turn of one system. CPU is null where the machine does not tell it. */
export interface Round {
  deliveries: number
  perSecond: number
  /** Per delivery, in ms. */
  postgresCpuMs: number | null
  nodeCpuMs: number | null
  receiverCpuMs: number | null
  /** Per delivery; null without a database. */
  walBytes: number | null
}

/**
 * From the first event that is enqueued, which goes on alongside, to the moment when the receiver has had all requests
 * and the system's tables hold no open work.
 */
export async function runRound(bench: Bench, system: MeasuredSystem, events: number): Promise<Round> {
  const deliveries = events * system.fanOut
  await bench.receiver.call('countAgain')
  const nodePids = system.processes.map(({ pid }) => pid)
  const before = {
    wal: await walPosition(system),
    postgres: cpuSeconds(withChildren(bench.postgres.pid)),
    node: cpuSeconds(nodePids),
    receiver: cpuSeconds([bench.receiver.pid]),
  }
  const startedAt = clockMs()
  await within(
    ROUND_MS_MAX,
    `${system.name} did not deliver ${deliveries} requests`,
    Promise.all([system.enqueue(events), bench.receiver.call('countReached', deliveries)]),
  )
  await untilNoOpenWork(system)
  const seconds = (clockMs() - startedAt) / 1000
  const each = (now: number | null, then: number | null, unit: number) =>
    now === null || then === null ? null : ((now - then) * unit) / deliveries
  return {
    deliveries,
    perSecond: deliveries / seconds,
    postgresCpuMs: system.database
      ? each(cpuSeconds(withChildren(bench.postgres.pid)), before.postgres, 1000)
      : null,
    nodeCpuMs: each(cpuSeconds(nodePids), before.node, 1000),
    receiverCpuMs: each(cpuSeconds([bench.receiver.pid]), before.receiver, 1000),
    walBytes: each(await walPosition(system), before.wal, 1),
  }
}

export async function untilNoOpenWork(
  { name, database }: MeasuredSystem,
  msMax = ROUND_MS_MAX,
): Promise<void> {
  if (!database) return
  const endsAt = clockMs() + msMax
  while (clockMs() < endsAt) {
    const { rows } = await database.pool.query<{ open: boolean }>(database.openWork)
    if (rows[0]?.open === false) return
    await sleep(POLL_MS)
  }
  throw new Error(`${name} still has open work after ${msMax / 1000} s`)
}

/** Of the whole server: one system works at a time, the others only poll. */
async function walPosition({ database }: MeasuredSystem): Promise<number | null> {
  return database ? readWalPosition(database.pool) : null
}

async function readWalPosition(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ bytes: number }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
  )
  return rows[0]?.bytes ?? Number.NaN
}

export async function within<Result>(ms: number, message: string, work: Promise<Result>): Promise<Result> {
  const timer = new AbortController()
  const late = sleep(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${message} within ${ms / 1000} s`)
  })
  late.catch(() => {})
  return Promise.race([work, late]).finally(() => timer.abort())
}
