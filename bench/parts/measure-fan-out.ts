import { interleaveRounds } from '../harness/interleave-rounds.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import { type Summary, summarise } from '../harness/summarise-samples.js'

const FAN_OUTS = [1, 10, 100] as const
const ROUNDS = 3

export interface FanOutResult {
  fanOut: number
  /** Deliveries, not events. */
  perSecond: Summary
  postgresCpuMs: number | null
  walBytes: number | null
}

/** An event goes to 1, 10 and 100 subscriptions, in databases and processes of their own that take turns. */
export async function measureFanOut(bench: Bench): Promise<FanOutResult[]> {
  const prepared = []
  for (const fanOut of FAN_OUTS) {
    const eventType = `fan.${fanOut}`
    // With one subscription a single endpoint would be bound by its share of the slots: four types, one each.
    const types = fanOut === 1 ? ['a', 'b', 'c', 'd'].map((name) => `${eventType}.${name}`) : [eventType]
    const endpoints = types.flatMap((type) =>
      Array.from({ length: fanOut }, (_, index) => ({ eventType: type, path: `/${type}/${index}` })),
    )
    const database = await prepareSagapost(bench, `fan_out_${fanOut}`, endpoints)
    const system = await startOneProcess(bench, `fan-out ${fanOut}`, database, { types, fanOut })
    prepared.push({ fanOut, database, system })
  }
  const { roundS, rounds } = bench.options
  const measured = await interleaveRounds(
    bench,
    prepared.map(({ system }) => system),
    { rounds: Math.min(ROUNDS, rounds), roundS },
  )
  for (const { system, database } of prepared) {
    await system.stop()
    await database.check()
    await bench.dropDatabase(database.name)
  }
  const middle = (values: (number | null)[]) =>
    values.includes(null) ? null : summarise(values as number[]).median
  return measured.map(({ system, rounds: own }) => ({
    fanOut: system.fanOut,
    perSecond: summarise(own.map(({ perSecond }) => perSecond)),
    postgresCpuMs: middle(own.map(({ postgresCpuMs }) => postgresCpuMs)),
    walBytes: middle(own.map(({ walBytes }) => walBytes)),
  }))
}
