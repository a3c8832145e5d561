import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { createDraw } from '../schedule/create-draw.js'
import { LOAD_MS, type Schedule } from '../schedule/plan-schedule.js'
import type { FaultSystem } from '../system/fault-system.js'
import { createTally, type LoadTally } from './load-tally.js'
import { makeEvent } from './make-event.js'
import { openPublisherPool, publishBySql } from './publish-by-sql.js'
import { publishOverHttp } from './publish-over-http.js'
import { requeueDeadLetters } from './requeue-dead-letters.js'
import { openSagaStarter } from './start-sagas.js'

const BATCH = 50
const HTTP_PUBLISHERS = 6
const SQL_PUBLISHERS = 2
const SAGAS = 20
/** With each batch: some one at a time, some by SQL. */
const SINGLES_PER_BATCH = 2
const EVENTS_PER_TRANSACTION = 5
const ROLLED_BACK_SHARE = 0.25
/** So often a batch that was acknowledged is sent again. */
const REPEATED_SHARE = 0.1
/** When the dead letters so far are requeued, in the midst of everything. */
const REQUEUE_AT_MS = LOAD_MS * 0.6

type Unit = () => Promise<void>

/** Publishes so many events over the schedule's time, by all doors, and starts sagas beside. Resolves when all are in. */
export async function runLoad(
  system: FaultSystem,
  { seed }: Schedule,
  events: number,
  signal: AbortSignal,
): Promise<LoadTally> {
  // Each request in flight listens to it.
  setMaxListeners(0, signal)
  const draw = createDraw(seed ^ 0x5eed)
  const tally = createTally()
  const agent = new Agent({ connections: HTTP_PUBLISHERS, connect: { timeout: 2_000 } })
  const pool = openPublisherPool(system)
  const sagas = await openSagaStarter(system, tally, signal)
  const http = { system, agent, tally, signal }
  const sql = { system, pool, tally, signal }
  const overHttp: Unit[] = []
  const bySql: Unit[] = []

  let next = 0
  const take = (count: number) =>
    Array.from({ length: Math.min(count, events - next) }, () => makeEvent(seed, next++))
  while (next < events) {
    for (const event of take(SINGLES_PER_BATCH)) overHttp.push(() => publishOverHttp(http, [event]))
    const group = take(EVENTS_PER_TRANSACTION)
    bySql.push(() => publishBySql(sql, group, 'COMMIT'))
    if (draw.chance(ROLLED_BACK_SHARE)) bySql.push(() => publishBySql(sql, group, 'ROLLBACK'))
    const batch = take(BATCH)
    const again = draw.chance(REPEATED_SHARE)
    overHttp.push(async () => {
      await publishOverHttp(http, batch)
      if (again) await publishOverHttp(http, batch)
    })
  }
  const orders = Array.from(
    { length: SAGAS },
    (_, n) => () => sagas.start(seed * 1_000 + n, draw.chance(0.3)),
  )
  try {
    await Promise.all([
      runUnits(overHttp, HTTP_PUBLISHERS),
      runUnits(bySql, SQL_PUBLISHERS),
      runUnits(orders, 1),
      sleep(REQUEUE_AT_MS).then(() => requeueDeadLetters(http, `${seed}-midst`)),
    ])
  } finally {
    await Promise.all([agent.destroy(), pool.end(), sagas.close()])
  }
  return tally
}

/** Evenly over the time of the load; a late publisher continues at once. */
async function runUnits(units: readonly Unit[], publishers: number): Promise<void> {
  const startedAt = performance.now()
  let next = 0
  const work = async () => {
    while (next < units.length) {
      const at = next++
      const waitMs = startedAt + (at / units.length) * LOAD_MS - performance.now()
      if (waitMs > 0) await sleep(waitMs)
      await units[at]?.()
    }
  }
  await Promise.all(Array.from({ length: publishers }, work))
}
