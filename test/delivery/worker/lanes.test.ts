import { describe, expect, it } from 'vitest'
import type { Standing } from '../../../src/delivery/breakers/standing.js'
import { createLanes } from '../../../src/delivery/worker/lanes.js'
import { createPassedOver } from '../../../src/delivery/worker/passed-over.js'

const jobs = (subscriptionId: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ subscriptionId, n }))

const drain = <Job>(next: () => Job | undefined): Job[] => {
  const taken: Job[] = []
  for (let job = next(); job !== undefined; job = next()) taken.push(job)
  return taken
}

describe('lanes', () => {
  it('[J3] one subscription gets at most half of the slots, and no more jobs run than there are slots', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10)
    lanes.take(jobs('slow', 50))
    expect(drain(() => lanes.next())).toHaveLength(5)
    lanes.take([...jobs('a', 4), ...jobs('b', 4)])
    const begun = drain(() => lanes.next()).map(({ subscriptionId }) => subscriptionId)
    expect(begun).toEqual(['a', 'b', 'a', 'b'])
    expect(lanes.next()).toBeUndefined()
  })

  it('[J3] however many endpoints are slow, a slot is left for the next one', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(20)
    for (const slow of ['slow-1', 'slow-2', 'slow-3', 'slow-4']) {
      lanes.take(jobs(slow, 50))
      drain(() => lanes.next())
    }
    lanes.take(jobs('quick', 1))
    expect(lanes.next()).toEqual({ subscriptionId: 'quick', n: 0 })
  })

  it('[R1] a worker is busy when an endpoint that answers runs all the jobs held for it', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10, (id) => standings(id))
    lanes.take([...jobs('burst', 9), ...jobs('dead', 1), ...jobs('other', 3)])
    expect(lanes.isBusy()).toBe(false)
    lanes.take(jobs('burst', 1))
    expect(lanes.isBusy()).toBe(true)
    expect(lanes.full()).toContain('burst')
    lanes.next()
    lanes.done('burst')
    expect(lanes.isBusy()).toBe(false)
  })

  const standings = (id: string): Standing =>
    id.startsWith('dead') ? 'failing' : id.startsWith('new') ? 'untried' : 'answering'
  const crowd = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({ subscriptionId: `${name}-${n}`, n: 0 }))

  it('[J3] doubtful endpoints have slots of their own: those that answer have all of theirs', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(2, standings)
    expect(lanes.roomForDoubtful()).toEqual({ failing: 12, untried: 20 })
    // Twenty slots, twelve of them for those that fail.
    expect(lanes.take(crowd('dead', 20))).toHaveLength(8)
    expect(drain(() => lanes.next())).toHaveLength(12)
    expect([lanes.roomForDoubtful(), lanes.busy(), lanes.room()]).toEqual([{ failing: 0, untried: 20 }, 0, 4])
    expect(lanes.take(crowd('new', 8))).toHaveLength(0)
    expect(drain(() => lanes.next())).toHaveLength(8)
    expect(lanes.roomForDoubtful()).toEqual({ failing: 0, untried: 0 })
    lanes.take([...jobs('quick', 1), ...jobs('other', 1)])
    expect(drain(() => lanes.next()).map(({ subscriptionId }) => subscriptionId)).toEqual(['quick', 'other'])
    lanes.done('new-0')
    expect(lanes.take(jobs('dead-19', 1))).toHaveLength(1)
    expect(lanes.take(jobs('new-19', 1))).toHaveLength(0)
    expect(lanes.next()?.subscriptionId).toBe('new-19')
  })

  it('[J3] four jobs of untried endpoints are held for each free slot, and at most as many as there are slots', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(2, standings)
    expect(lanes.take(crowd('new', 30))).toHaveLength(10)
    expect(lanes.roomForDoubtful()).toEqual({ failing: 12, untried: 0 })
    for (let begun = 0; begun < 18; begun++) lanes.next()
    // Two are queued, and two slots are free.
    expect(lanes.roomForDoubtful().untried).toBe(6)
  })

  it('[J3] a doubtful endpoint has one request at a time, and nothing more is held or claimed for it', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10, standings)
    expect([lanes.hasRoomFor('dead'), lanes.full()]).toEqual([true, []])
    expect(lanes.take(jobs('dead', 3))).toEqual(jobs('dead', 3).slice(1))
    expect([lanes.hasRoomFor('dead'), lanes.full()]).toEqual([false, ['dead']])
    expect(drain(() => lanes.next())).toHaveLength(1)
    expect(lanes.take(jobs('dead', 1))).toHaveLength(1)
    lanes.done('dead')
    expect([lanes.hasRoomFor('dead'), lanes.full()]).toEqual([true, []])
  })

  it('[J3] an endpoint that answers for the first time has its share from then on', () => {
    let standing: Standing = 'untried'
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10, () => standing)
    lanes.take(jobs('a', 1))
    expect(drain(() => lanes.next())).toHaveLength(1)
    standing = 'answering'
    lanes.take(jobs('a', 20))
    expect(drain(() => lanes.next())).toHaveLength(4)
    expect(lanes.busy()).toBe(4)
    for (let n = 0; n < 5; n++) lanes.done('a')
    expect([lanes.busy(), lanes.roomForDoubtful().untried]).toEqual([0, 100])
  })

  it('[J3] while no doubtful endpoint may begin, the others do', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10, standings)
    lanes.take([...jobs('dead', 1), ...jobs('quick', 2)])
    const begun = drain(() => lanes.next({ untried: false, failing: false })).map(
      ({ subscriptionId }) => subscriptionId,
    )
    expect(begun).toEqual(['quick', 'quick'])
    expect(lanes.next({ untried: false, failing: true })?.subscriptionId).toBe('dead')
  })

  it('[J3] a lane without an answer for two seconds gives its slots away, and begins nothing until it has an answer', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(2)
    const startedAtMs = performance.now()
    lanes.take([...jobs('silent', 2), ...jobs('second', 2), ...jobs('quick', 1)])
    expect(drain(() => lanes.next())).toHaveLength(2)
    expect(lanes.setAsideSilent(startedAtMs + 1_000)).toBe(false)
    expect(lanes.next()).toBeUndefined()
    expect(lanes.setAsideSilent(startedAtMs + 60_000)).toBe(true)
    expect([lanes.busy(), lanes.full()]).toEqual([0, ['silent', 'second']])
    expect(drain(() => lanes.next()).map(({ subscriptionId }) => subscriptionId)).toEqual(['quick'])
    expect(lanes.setAsideSilent(startedAtMs + 1_000)).toBe(false)
    // It answers: what waited goes on in the ordinary slots.
    lanes.done('silent')
    expect(lanes.next()).toEqual({ subscriptionId: 'silent', n: 1 })
    expect(lanes.busy()).toBe(2)
  })

  it('[J3] at most as many are under way beside the others as there are slots, however many are silent', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(1)
    let begun = 0
    for (let n = 0; n < 20; n++) {
      lanes.take(jobs(`silent-${n}`, 1))
      begun += drain(() => lanes.next()).length
      lanes.setAsideSilent(performance.now() + 60_000)
    }
    expect(begun).toBe(11)
  })

  it('[J3] jobs that wait behind a slow endpoint take no room from the others', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10)
    lanes.take(jobs('slow', 50))
    drain(() => lanes.next())
    expect(lanes.room()).toBe(15)
    expect(lanes.full()).toEqual(['slow'])
    lanes.take(jobs('other', 3))
    expect(drain(() => lanes.next())).toHaveLength(3)
    expect(lanes.full()).toEqual(['slow'])
  })

  it('[J3] free slots rotate among the subscriptions, each in its own order', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(4)
    lanes.take([...jobs('a', 3), ...jobs('b', 3), ...jobs('c', 3)])
    const begun: string[] = []
    for (let job = lanes.next(); job !== undefined; job = lanes.next()) {
      begun.push(`${job.subscriptionId}${job.n}`)
      if (begun.length <= 5) lanes.done(job.subscriptionId)
    }
    expect(begun).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2'])
  })

  it('[J3] a job that may begin is found without visiting every subscription that has one', () => {
    let asked = 0
    const lanes = createLanes<{ subscriptionId: string; n: number }>(500, () => {
      asked += 1
      return 'answering'
    })
    for (let n = 0; n < 400; n++) lanes.take(jobs(`${n}`, 1))
    expect(asked).toBe(400)
    asked = 0
    expect(drain(() => lanes.next())).toHaveLength(400)
    expect(asked).toBe(400)
  })

  it('[J5] withdrawn jobs are gone, running ones stay', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(2)
    lanes.take([...jobs('a', 3), ...jobs('b', 2)])
    expect(drain(() => lanes.next())).toHaveLength(2)
    expect(lanes.withdraw(({ subscriptionId }) => subscriptionId === 'a')).toHaveLength(2)
    lanes.done('a')
    lanes.done('b')
    expect(drain(() => lanes.next())).toEqual([{ subscriptionId: 'b', n: 1 }])
    lanes.done('b')
    expect([lanes.room(), lanes.full()]).toEqual([4, []])
  })
})

describe('the jobs that a worker has passed over', () => {
  const at = (seconds: number) => new Date(seconds * 1000)
  const look = (freeSince: Date | undefined, takenUp: string[] = []) => ({ freeSince, takenUp })

  it('[J9] are not searched again, except for late commits', () => {
    const passed = createPassedOver()
    expect(passed.from(['7'], 0)).toEqual(look(undefined))
    passed.until(at(100))
    expect(passed.from(['7'], 1)).toEqual(look(at(99.9)))
    passed.until(at(100))
    expect(passed.from(['7', '8'], 249)).toEqual(look(at(99.9)))
    passed.until(at(100))
    expect(passed.from(['7', '8'], 250)).toEqual(look(at(98)))
    passed.until(at(100))
    expect(passed.from(['7', '8'], 251)).toEqual(look(at(99.9)))
  })

  it('[J9] are left behind from where a search ended that was full of late commits', () => {
    const passed = createPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    expect(passed.from(['7'], 300)).toEqual(look(at(98)))
    passed.until(at(98.5))
    expect(passed.from(['7'], 301)).toEqual(look(at(98.4)))
    passed.until(at(101))
    expect(passed.from(['7'], 302)).toEqual(look(at(100.9)))
  })

  it('[J9] are searched for the others’ late commits, however often a subscription is briefly resumed', () => {
    const passed = createPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    for (const nowMs of [100, 200, 300]) {
      expect(passed.from([], nowMs).takenUp).toEqual(['7'])
      passed.until(at(50))
      expect(passed.from(['7'], nowMs + 1)).toEqual(look(nowMs === 300 ? at(98) : at(99.9)))
      passed.until(at(100))
      passed.from(['7'], nowMs + 2)
    }
  })

  it('[J9] are searched from where a subscription was left, late commits included', () => {
    const passed = createPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    passed.from(['7', '8'], 1)
    passed.until(at(110))
    expect(passed.from(['7', '8'], 2)).toEqual(look(at(109.9)))
    expect(passed.from(['7'], 3)).toEqual(look(at(98), ['8']))
  })

  it('[J9] cost the others nothing when some were taken: they continue from where they were', () => {
    const passed = createPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    passed.from(['7', '8'], 1)
    passed.until(at(110))
    expect(passed.from(['7'], 2)).toEqual(look(at(98), ['8']))
    passed.until(at(103))
    expect(passed.from(['7', '8'], 3)).toEqual(look(at(109.9)))
    passed.until(at(111))
    expect(passed.from(['7'], 4)).toEqual(look(at(101), ['8']))
    passed.until(at(112))
    expect(passed.from(['7'], 5)).toEqual(look(at(111.9)))
  })

  it('[J9] have a mark for each subscription: a search that ends in the backlog of one sets no other back', () => {
    const passed = createPassedOver()
    passed.from(['7'], 0)
    passed.until(at(10))
    passed.from(['7', '8'], 1)
    passed.until(at(50))
    passed.from(['7', '8', '9'], 2)
    passed.until(at(100))
    expect(passed.from(['7'], 3)).toEqual(look(at(8), ['8', '9']))
    passed.until(at(12))
    expect(passed.from(['7', '8'], 4)).toEqual(look(at(49.9), ['9']))
    expect(passed.from(['7', '9'], 5)).toEqual(look(at(10), ['8']))
  })

  it('[J9] are remembered while the only skipped subscription is briefly resumed', () => {
    const passed = createPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    expect(passed.from([], 1)).toEqual(look(undefined, ['7']))
    passed.until(at(50))
    expect(passed.from(['7'], 2)).toEqual(look(at(99.9)))
    passed.until(at(101))
    expect(passed.from([], 3)).toEqual(look(at(48), ['7']))
  })

  it('[J9] are searched when a subscription is resumed, when none is skipped, and periodically', () => {
    const passed = createPassedOver()
    const pass = (except: string[], nowMs: number) => {
      const { freeSince } = passed.from(except, nowMs)
      passed.until(at(100))
      return freeSince
    }
    pass(['7', '8'], 0)
    expect(pass(['7'], 1)).toBeUndefined()
    expect(pass(['7'], 2)).toEqual(at(99.9))
    expect(pass(['7'], 5000)).toBeUndefined()
    expect(pass([], 5001)).toBeUndefined()
    // All of them were looked at just now.
    expect(pass(['7'], 5002)).toEqual(at(99.9))
    expect(pass([], 5003)).toBeUndefined()
    expect(pass(['7'], 5004)).toBeUndefined()
  })
})
