import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { cpuSeconds, memoryMb, withChildren } from '../harness/read-usage.js'
import { startOneProcess } from '../harness/start-sagapost.js'

/** Until the garbage of the start is collected, which V8 does within the first minute of quiet. */
const SETTLE_MS = 60_000
const MEASURE_MS = 60_000

export interface IdleResult {
  /** Of one core; null where the machine does not tell. */
  nodePercent: number | null
  postgresPercent: number | null
  memoryMb: number | null
}

/** Everything in one process, with nothing to do. */
export async function measureIdle(bench: Bench): Promise<IdleResult> {
  const database = await prepareSagapost(bench, 'idle', [{ eventType: 'load.a', path: '/load.a' }])
  const system = await startOneProcess(bench, 'Sagapost', database, {
    types: ['load.a'],
    only: ['api', 'router', 'orchestrator', 'worker', 'cleaner', 'sagas'],
  })
  bench.say(`idle for ${(SETTLE_MS + MEASURE_MS) / 1000} s`)
  await sleep(SETTLE_MS)
  const read = () => ({
    node: cpuSeconds([system.child.pid]),
    postgres: cpuSeconds(withChildren(bench.postgres.pid)),
  })
  const before = read()
  const startedAt = performance.now()
  await sleep(MEASURE_MS)
  const after = read()
  const seconds = (performance.now() - startedAt) / 1000
  const percent = (now: number | null, then: number | null) =>
    now === null || then === null ? null : ((now - then) / seconds) * 100
  const memory = memoryMb(system.child.pid)
  await system.stop()
  await database.check()
  await bench.dropDatabase(database.name)
  return {
    nodePercent: percent(after.node, before.node),
    postgresPercent: percent(after.postgres, before.postgres),
    memoryMb: memory?.now ?? null,
  }
}
