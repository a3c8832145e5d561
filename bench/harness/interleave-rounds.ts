import type { MeasuredSystem } from './measured-system.js'
import type { Bench } from './open-bench.js'
import type { BenchOptions } from './read-options.js'
import { type Round, runRound } from './run-round.js'

/** Again and again, until it gets no faster: compilers, caches and statistics take their time. Never longer than a round. */
const WARM_UP = 500
const WARM_UP_S = 1.5
/** The first ones are spent on connections. */
const WARM_UPS_MIN = 3
const WARM_UPS_MAX = 6
const WARM_UP_GAIN_MIN = 1.15
/**
 * Ahead of each turn, and not counted: connections to the receiver, which nobody keeps for longer than half a minute, are made
 * anew, and undici's pool makes up to two for each request in flight. A handshake costs as much as some fifteen posts, a turn of
 * a slow system has few posts to share it, and whether the turns of all the others take longer than those connections last is
 * up to the machine.
 */
const LEAD_PER_CONNECTION = 4
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
    let deliveries = WARM_UP
    for (let turn = 1; turn <= WARM_UPS_MAX; turn++) {
      const { perSecond } = await runRound(bench, system, toEvents(system, deliveries))
      // Fresh tables have no statistics, in any of the systems.
      await system.database?.pool.query('ANALYZE')
      const gain = perSecond / (rates.get(system) ?? 0)
      rates.set(system, perSecond)
      deliveries = perSecond * Math.min(WARM_UP_S, roundS)
      if (turn >= WARM_UPS_MIN && gain < WARM_UP_GAIN_MIN) break
    }
    bench.say(`warmed up ${system.name}: ${rates.get(system)?.toFixed(0)}/s`)
    measured.push({ system, rounds: [] })
  }
  for (let round = 0; round < rounds; round++) {
    const turns = [...measured.slice(round % measured.length), ...measured.slice(0, round % measured.length)]
    for (const { system, rounds: own } of turns) {
      const rate = rates.get(system) ?? 0
      await runRound(bench, system, toEvents(system, LEAD_PER_CONNECTION * bench.options.concurrency))
      await system.prepareTurn?.()
      const result = await runRound(bench, system, toEvents(system, rate * roundS))
      rates.set(system, result.perSecond)
      own.push(result)
    }
    const shown = measured.map(({ system }) => `${system.name} ${rates.get(system)?.toFixed(0)}/s`)
    bench.say(`round ${round + 1} of ${rounds}: ${shown.join(', ')}`)
  }
  return measured
}

function toEvents({ fanOut }: MeasuredSystem, deliveries: number): number {
  return Math.min(EVENTS_MAX, Math.max(EVENTS_MIN, Math.ceil(deliveries / fanOut)))
}
