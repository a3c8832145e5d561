import { setTimeout as pause } from 'node:timers/promises'
import { addEndpoints } from '../harness/add-endpoints.js'
import { ENQUEUE_BATCH } from '../harness/measured-system.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { clockMs } from '../harness/read-clock.js'
import { memoryMb } from '../harness/read-usage.js'
import { within } from '../harness/run-round.js'
import { type OneProcess, startOneProcess } from '../harness/start-sagapost.js'

const HANGING = 400
/** For each of them: more than it is tried with meanwhile. */
const WAITING = 5
const WARM_UP = 500
/** Until those that hang have timed out, and are known for it. */
const TIMED_OUT_MS = 11_000
const DELIVERED_MS_MAX = 300_000

/** Deliveries a second. */
interface EndpointRates {
  /** All to one endpoint. */
  alone: number
  /** One to each endpoint: never tried; once they have answered; after a restart. */
  cold: number
  warm: number
  restarted: number
}

export interface EndpointsResult {
  endpoints: number
  without: EndpointRates
  /** Beside those that hang: as new as the others when these are cold, known for it later. */
  withHanging: Omit<EndpointRates, 'alone'>
  hanging: number
  /** Of Sagapost's process at its largest; null where the machine does not tell. */
  memoryMb: number | null
}

/** The usual load of webhooks: many endpoints, with one event each. */
export async function measureEndpoints(bench: Bench): Promise<EndpointsResult> {
  const { endpoints } = bench.options
  const many = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}.${n}`)
  const toEndpoints = (types: readonly string[], folder = '') =>
    types.map((eventType) => ({ eventType, path: `${folder}/${eventType}` }))
  const known = many('known', endpoints)
  const fresh = many('fresh', endpoints)
  const hanging = many('hang', HANGING)
  const database = await prepareSagapost(bench, 'endpoints', [{ eventType: 'alone', path: '/alone' }])
  await addEndpoints(bench, database, [
    ...toEndpoints(known),
    ...toEndpoints(fresh),
    ...toEndpoints(hanging, '/hang'),
  ])
  const start = () =>
    startOneProcess(bench, 'Sagapost', database, {
      types: ['alone'],
      only: ['router', 'orchestrator', 'worker', 'cleaner'],
      // The last part waits for those that have timed out.
      settings: { SAGAPOST_RETRY_BASE_DELAY: '1s', SAGAPOST_RETRY_MAX_DELAY: '5s' },
    })
  let peakMb: number | null = null
  const rateOf = async (system: OneProcess, types: readonly string[], count = endpoints) => {
    await bench.receiver.call('countAgain')
    const startedAt = clockMs()
    await within(
      DELIVERED_MS_MAX,
      `${count} endpoints did not have their events`,
      Promise.all([
        system.child.call('enqueue', count, ENQUEUE_BATCH, types),
        bench.receiver.call('countReached', count),
      ]),
    )
    const perSecond = (count * 1000) / (clockMs() - startedAt)
    bench.say(`endpoints: ${perSecond.toFixed(0)} deliveries/s`)
    const memory = memoryMb(system.child.pid)
    if (memory) peakMb = Math.max(peakMb ?? 0, memory.peak)
    return perSecond
  }

  const say = (what: string) => bench.say(`endpoints: ${what}`)
  let system = await start()
  await rateOf(system, ['alone'], WARM_UP)
  say(`${endpoints} events to one endpoint, then one to each of as many that are new, twice`)
  const alone = await rateOf(system, ['alone'])
  const cold = await rateOf(system, known)
  const warm = await rateOf(system, known)
  await system.stop()
  system = await start()
  say('the same after a restart')
  const restarted = await rateOf(system, known)
  await system.stop()

  say(`the same beside ${HANGING} that hang`)
  await bench.receiver.call('disturb', true)
  system = await start()
  await system.child.call('enqueue', HANGING * WAITING, HANGING * WAITING, hanging)
  const coldBeside = await rateOf(system, fresh)
  await pause(TIMED_OUT_MS)
  const warmBeside = await rateOf(system, fresh)
  await system.stop()
  system = await start()
  const restartedBeside = await rateOf(system, fresh)
  await bench.receiver.call('disturb', false)
  await system.stop()
  await database.check(false)
  await bench.dropDatabase(database.name)
  return {
    endpoints,
    without: { alone, cold, warm, restarted },
    withHanging: { cold: coldBeside, warm: warmBeside, restarted: restartedBeside },
    hanging: HANGING,
    memoryMb: peakMb,
  }
}
