import type { SagaDefinition } from '../definition.js'
import type { ClaimRequest } from '../storage/index.js'

export interface DefinitionSlots {
  /**
   * How many sagas may be claimed now, per definition and in total; the order rotates. The room of definitions with a
   * limit of their own is reserved for the claim until `settle` is called.
   */
  wanted(): { readonly request: Pick<ClaimRequest, 'limit' | 'definitions'>; settle(): void }
  mayTake(definition: SagaDefinition): boolean
  take(definition: SagaDefinition): void
  give(definition: SagaDefinition): void
  /** Whether there was no room left at the last request. */
  wasFull(): boolean
}

/** Limits the sagas that one coordinator runs: all together, per definition, and per definition and second. */
export function createDefinitionSlots(
  definitions: readonly SagaDefinition[],
  concurrency: number,
  clock: () => number = () => performance.now(),
): DefinitionSlots {
  const counts = new Map(
    definitions.map((definition) => [definition, { running: 0, kept: 0, tokens: Number.NaN, at: 0 }]),
  )
  let total = 0
  let full = false
  let first = 0

  const roomFor = (definition: SagaDefinition): number => {
    const count = counts.get(definition)
    if (count === undefined) return 0
    const { ratePerSecond: rate, concurrency: most = concurrency } = definition
    if (rate !== undefined) {
      const earned = ((clock() - count.at) / 1_000) * rate
      count.tokens = Number.isNaN(count.tokens) ? rate : Math.min(rate, count.tokens + earned)
      count.at = clock()
    }
    const free = Math.min(most - count.running, rate === undefined ? most : Math.floor(count.tokens))
    return free - count.kept
  }

  return {
    wanted() {
      const limit = Math.max(0, concurrency - total)
      if (++first >= definitions.length) first = 0
      const open = [...definitions.slice(first), ...definitions.slice(0, first)]
        .map((definition) => ({ definition, limit: Math.min(limit, roomFor(definition)) }))
        .filter((each) => each.limit > 0)
      full = open.length < definitions.length
      const limited = open.filter(({ definition }) => isLimited(definition))
      const keep = (sign: 1 | -1) => {
        for (const { definition, limit: own } of limited) {
          const count = counts.get(definition)
          if (count) count.kept += sign * own
        }
      }
      keep(1)
      return {
        request: {
          limit: Math.min(
            limit,
            open.reduce((sum, each) => sum + each.limit, 0),
          ),
          definitions: open.map(({ definition: { name, version }, limit: own }) => ({
            name,
            version,
            limit: own,
          })),
        },
        settle: () => keep(-1),
      }
    },
    mayTake(definition) {
      const room = total < concurrency && roomFor(definition) > 0
      if (!room) full = true
      return room
    },
    take(definition) {
      total++
      const count = counts.get(definition)
      if (count) {
        count.running++
        count.tokens -= 1
      }
    },
    give(definition) {
      total--
      const count = counts.get(definition)
      if (count) count.running--
    },
    wasFull: () => full,
  }
}

/**
 * The total limit protects the machine, and may be exceeded briefly during a claim; a definition's limits are
 * guarantees.
 */
const isLimited = ({ concurrency, ratePerSecond }: SagaDefinition) =>
  concurrency !== undefined || ratePerSecond !== undefined
