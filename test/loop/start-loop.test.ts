import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startLoop } from '../../src/loop/index.js'
import type { LoopOptions } from '../../src/loop/start-loop.js'

const NEVER_MS = 1_000_000

/** A loop that finds nothing to do, and runs again only when woken. */
function startCounting(options: { spacingMs?: number } = {}) {
  let rounds = 0
  const loop = startLoop({
    round: async () => {
      rounds++
      return false
    },
    idleMs: NEVER_MS,
    onError: () => {},
    ...options,
  })
  return { loop, rounds: () => rounds }
}

describe('startLoop', () => {
  it('[R1] runs at once, again when it is woken, and not after it was stopped', async () => {
    const { loop, rounds } = startCounting()
    await expect.poll(rounds).toBe(1)
    loop.wake()
    await expect.poll(rounds).toBe(2)
    await loop.stop()
    loop.wake()
    await new Promise((resolve) => setImmediate(resolve))
    expect(rounds()).toBe(2)
  })

  it('[R1] continues as long as there is more, and a wake-up during a round is not lost', async () => {
    let rounds = 0
    const loop = startLoop({
      round: async () => {
        rounds++
        if (rounds === 5) loop.wake()
        return rounds < 5
      },
      idleMs: NEVER_MS,
      onError: () => {},
    })
    await expect.poll(() => rounds).toBe(6)
    await loop.stop()
  })

  it('[O6] continues after errors', async () => {
    const errors: string[] = []
    let rounds = 0
    const loop = startLoop({
      round: async () => {
        rounds++
        if (rounds < 3) throw new Error(`round ${rounds}`)
        return false
      },
      idleMs: NEVER_MS,
      onError: (error) => errors.push(error.message),
    })
    await expect.poll(() => rounds).toBe(3)
    expect(errors).toEqual(['round 1', 'round 2'])
    await loop.stop()
  })

  it('[O6] a stop between two rounds that keep their distance does not wait', async () => {
    const { loop, rounds } = startCounting({ spacingMs: NEVER_MS })
    await expect.poll(rounds).toBe(1)
    loop.wake()
    await new Promise((resolve) => setImmediate(resolve))
    await loop.stop()
    expect(rounds()).toBe(1)
  })

  it('[O6] stop waits for the round that is under way', async () => {
    let release = () => {}
    let finished = false
    const loop = startLoop({
      round: async () => {
        await new Promise<void>((resolve) => {
          release = resolve
        })
        finished = true
        return false
      },
      idleMs: NEVER_MS,
      onError: () => {},
    })
    const stopped = loop.stop()
    release()
    await stopped
    expect(finished).toBe(true)
  })
})

/** A loop on a clock that the test moves, with the outcomes of its rounds given in advance. */
function startScripted(
  outcomes: (boolean | Error)[],
  options: Pick<LoopOptions, 'errorPauseMsMax' | 'spacingMs'> = {},
) {
  const rounds: { atMs: number; told: boolean }[] = []
  const startedAtMs = Date.now()
  const loop = startLoop({
    round: async (told) => {
      rounds.push({ atMs: Date.now() - startedAtMs, told })
      const outcome = outcomes[rounds.length - 1] ?? false
      if (outcome instanceof Error) throw outcome
      return outcome
    },
    idleMs: 1_000,
    onError: () => {},
    ...options,
  })
  return { loop, rounds, times: () => rounds.map(({ atMs }) => atMs) }
}

describe('startLoop on a clock that is moved', () => {
  const away = new Error('away')
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it('[R1] wake-ups soon after a round share the next round, and delay nothing else', async () => {
    const { loop, times } = startScripted([false, false, true, true, false], { spacingMs: 20 })
    await vi.advanceTimersByTimeAsync(5)
    loop.wake()
    await vi.advanceTimersByTimeAsync(5)
    loop.wake()
    await vi.advanceTimersByTimeAsync(90)
    expect(times()).toEqual([0, 20])
    // Long after the last round: at once, and again at once as long as there is more.
    loop.wake()
    await vi.advanceTimersByTimeAsync(50)
    expect(times()).toEqual([0, 20, 100, 100, 100])
    loop.wake()
    await vi.advanceTimersByTimeAsync(5)
    loop.wake()
    const stopped = loop.stop()
    await vi.advanceTimersByTimeAsync(0)
    await stopped
    expect(times()).toEqual([0, 20, 100, 100, 100, 150])
  })

  it('[R1] keeps the requested distance after each round', async () => {
    let spacingMs = 10
    const { loop, times } = startScripted([false, false, false], { spacingMs: () => spacingMs })
    await vi.advanceTimersByTimeAsync(5)
    loop.wake()
    spacingMs = 30
    await vi.advanceTimersByTimeAsync(10)
    loop.wake()
    await vi.advanceTimersByTimeAsync(24)
    expect(times()).toEqual([0, 10])
    await vi.advanceTimersByTimeAsync(1)
    expect(times()).toEqual([0, 10, 40])
    await loop.stop()
  })

  it('[R1] tells a round whether a wake-up announced work', async () => {
    const { loop, rounds } = startScripted([false, false, true, false, away, false, false])
    await vi.advanceTimersByTimeAsync(1_000)
    loop.wake()
    await vi.advanceTimersByTimeAsync(1_000)
    await vi.advanceTimersByTimeAsync(100)
    await vi.advanceTimersByTimeAsync(1_000)
    await loop.stop()
    expect(rounds).toEqual([
      { atMs: 0, told: true }, // the first
      { atMs: 1_000, told: false }, // on its own account
      { atMs: 1_000, told: true }, // woken
      { atMs: 1_000, told: true }, // there was more
      { atMs: 2_000, told: false },
      { atMs: 2_100, told: true }, // after an error
      { atMs: 3_100, told: false },
    ])
  })

  it('[R1] tells a round of a wake-up during the previous one', async () => {
    const { loop, rounds } = startScripted([false])
    loop.wake()
    await vi.advanceTimersByTimeAsync(0)
    await loop.stop()
    expect(rounds).toEqual([
      { atMs: 0, told: true },
      { atMs: 0, told: true },
    ])
  })

  it('[O6] pauses twice as long after each error, up to a limit, and restarts after a success', async () => {
    const { loop, times } = startScripted([away, away, away, away, away, true, away, false], {
      errorPauseMsMax: 500,
    })
    await vi.advanceTimersByTimeAsync(1_800)
    await loop.stop()
    expect(times()).toEqual([0, 100, 300, 700, 1_200, 1_700, 1_700, 1_800])
  })

  it('[O6] retries every two seconds, however long it has failed', async () => {
    const { loop, times } = startScripted(Array(40).fill(away))
    await vi.advanceTimersByTimeAsync(60_000)
    await loop.stop()
    const pauses = times().map((atMs, index, all) => atMs - (all[index - 1] ?? 0))
    expect(Math.max(...pauses)).toBe(2_000)
  })

  it('[O6] a wake-up does not shorten the pause after an error', async () => {
    const { loop, times } = startScripted([away, away, false])
    await vi.advanceTimersByTimeAsync(50)
    loop.wake()
    await vi.advanceTimersByTimeAsync(49)
    expect(times()).toEqual([0])
    await vi.advanceTimersByTimeAsync(1)
    loop.wake()
    await vi.advanceTimersByTimeAsync(199)
    expect(times()).toEqual([0, 100])
    await loop.stop()
  })

  it('[O6] a stop ends the pause after an error, and no round follows', async () => {
    const { loop, times } = startScripted([away])
    await vi.advanceTimersByTimeAsync(50)
    await loop.stop()
    expect([times(), vi.getTimerCount()]).toEqual([[0], 0])
  })

  it('[O6] many errors leave no listeners behind', async () => {
    const added = vi.spyOn(EventTarget.prototype, 'addEventListener')
    const { loop, times } = startScripted(Array(50).fill(away))
    await vi.advanceTimersByTimeAsync(50 * 5_000)
    expect(times().length).toBeGreaterThan(50)
    const signals = new Set(added.mock.contexts.filter((each) => each instanceof AbortSignal))
    expect([...signals].map((signal) => getEventListeners(signal, 'abort').length)).toEqual([1])
    await loop.stop()
  })
})
