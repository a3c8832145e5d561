import { isDeepStrictEqual } from 'node:util'
import { clockMs } from '../harness/read-clock.js'
import { stepWork } from './saga-system.js'

export interface Turn {
  count: number
  seconds: number
  /** Of each saga, from its start to its result. */
  latenciesMs: number[]
}

/** Runs a number of sagas with a bounded concurrency; each caller waits for its result. */
export async function runConcurrently(
  count: number,
  concurrency: number,
  runOne: (order: number) => Promise<unknown>,
): Promise<Turn> {
  const latenciesMs: number[] = []
  const startedAt = clockMs()
  let next = 0
  const caller = async () => {
    while (next < count) {
      const order = next++
      const beganAt = clockMs()
      const result = await runOne(order)
      latenciesMs.push(clockMs() - beganAt)
      if (!isDeepStrictEqual(result, stepWork('ship', order)))
        throw new Error(`saga ${order}: a wrong result`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, caller))
  return { count, seconds: (clockMs() - startedAt) / 1000, latenciesMs }
}
