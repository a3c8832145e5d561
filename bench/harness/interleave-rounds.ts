import type { MeasuredSystem } from './measured-system.js'
import type { Bench } from './open-bench.js'
import type { BenchOptions } from './read-options.js'
import { type Round, runRound } from './run-round.js'

/** Doubled until one takes this long: what is fast after a while is not judged by its first second. */
const WARM_UP = 500
const WARM_UP_S = 1
const EVENTS_MIN = 20
const EVENTS_MAX = 200_000

export interface SystemRounds {
  system: MeasuredSystem
  rounds: Round[]
}

/**
 * Every system gets its turn in every round, each about as long as the others by its own rate before, so that a
 * noisy machine treats them alike. The first one of a round is another each time.
 */
export async function interleaveRounds(
  bench: Bench,
  systems: readonly MeasuredSystem[],
  { rounds, roundS }: Pick<BenchOptions, 'rounds' | 'roundS'> = bench.options,
): Promise<SystemRounds[]> {
  const measured: SystemRounds[] = []
  const rates = new Map<MeasuredSystem, number>()
  for (const system of systems) {
    const toEvents = (deliveries: number) => Math.max(EVENTS_MIN, Math.ceil(deliveries / system.fanOut))
    for (let deliveries = WARM_UP; ; deliveries *= 2) {
      const { perSecond } = await runRound(bench, system, toEvents(deliveries))
      // Fresh tables have no statistics, in any of the systems.
      await system.database?.pool.query('ANALYZE')
      rates.set(system, perSecond)
      if (deliveries / perSecond >= WARM_UP_S) break
    }
    bench.say(`warmed up ${system.name}: ${rates.get(system)?.toFixed(0)}/s`)
    measured.push({ system, rounds: [] })
  }
  for (let round = 0; round < rounds; round++) {
    const turns = [...measured.slice(round % measured.length), ...measured.slice(0, round % measured.length)]
    for (const { system, rounds: own } of turns) {
      const deliveries = (rates.get(system) ?? 0) * roundS
      const events = Math.min(EVENTS_MAX, Math.max(EVENTS_MIN, Math.ceil(deliveries / system.fanOut)))
      const result = await runRound(bench, system, events)
      rates.set(system, result.perSecond)
      own.push(result)
    }
    const shown = measured.map(({ system }) => `${system.name} ${rates.get(system)?.toFixed(0)}/s`)
    bench.say(`round ${round + 1} of ${rounds}: ${shown.join(', ')}`)
  }
  return measured
}
