import { describe, expect, it } from 'vitest'
import { startLoop } from '../../src/loop/index.js'

const NEVER_MS = 1_000_000

describe('startLoop', () => {
  it('[R1] runs at once, again when it is woken, and not after it was stopped', async () => {
    let rounds = 0
    const loop = startLoop({
      round: async () => {
        rounds++
        return false
      },
      idleMs: NEVER_MS,
      onError: () => {},
    })
    await expect.poll(() => rounds).toBe(1)
    loop.wake()
    await expect.poll(() => rounds).toBe(2)
    await loop.stop()
    loop.wake()
    await new Promise((resolve) => setImmediate(resolve))
    expect(rounds).toBe(2)
  })

  it('[R1] goes on as long as there is more, and a wake-up during a round is not lost', async () => {
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

  it('[O6] goes on after errors', async () => {
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
