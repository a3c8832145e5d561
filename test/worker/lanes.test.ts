import { describe, expect, it } from 'vitest'
import { createLanes } from '../../src/worker/lanes.js'
import { rememberPassedOver } from '../../src/worker/remember-passed-over.js'

const jobs = (subscriptionId: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ subscriptionId, n }))

const drain = <Job>(next: () => Job | undefined): Job[] => {
  const taken: Job[] = []
  for (let job = next(); job !== undefined; job = next()) taken.push(job)
  return taken
}

describe('lanes', () => {
  it('[J3] one subscription gets half of the slots at the most, and never more jobs run than there are slots', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10)
    for (const job of jobs('slow', 50)) lanes.add(job)
    expect(drain(() => lanes.next())).toHaveLength(5)
    for (const job of [...jobs('a', 4), ...jobs('b', 4)]) lanes.add(job)
    const begun = drain(() => lanes.next()).map(({ subscriptionId }) => subscriptionId)
    expect(begun).toEqual(['a', 'b', 'a', 'b'])
    expect(lanes.next()).toBeUndefined()
  })

  it('[J3] however many endpoints are slow, a slot is left for the next one', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(20)
    for (const slow of ['slow-1', 'slow-2', 'slow-3', 'slow-4']) {
      for (const job of jobs(slow, 50)) lanes.add(job)
      drain(() => lanes.next())
    }
    for (const job of jobs('quick', 1)) lanes.add(job)
    expect(lanes.next()).toEqual({ subscriptionId: 'quick', n: 0 })
  })

  it('[J3] doubtful endpoints share half of the slots, however many they are, and one that works gets the rest', () => {
    const isDoubtful = (id: string) => id.startsWith('dead')
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10, isDoubtful)
    expect([lanes.roomForDoubtful(), lanes.doubtful()]).toEqual([10, []])
    for (let n = 0; n < 40; n++) for (const job of jobs(`dead-${n}`, 1)) lanes.add(job)
    expect(drain(() => lanes.next())).toHaveLength(5)
    expect([lanes.roomForDoubtful(), lanes.doubtful().length]).toEqual([0, 40])
    expect([lanes.roomFor('dead-0'), lanes.roomFor('dead-40'), lanes.roomFor('quick')]).toEqual([
      ...[0, 0, Number.POSITIVE_INFINITY],
    ])
    // As if they held no more than their share.
    expect(lanes.room()).toBe(10)
    for (const job of jobs('quick', 10)) lanes.add(job)
    const begun = drain(() => lanes.next()).map(({ subscriptionId }) => subscriptionId)
    expect(new Set(begun)).toEqual(new Set(['quick']))
    lanes.done('dead-0')
    expect(lanes.next()?.subscriptionId).toBe('dead-5')
  })

  it('[J3] while no doubtful one may begin, the others do', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10, (id) => id === 'dead')
    for (const job of [...jobs('dead', 2), ...jobs('quick', 2)]) lanes.add(job)
    const begun = drain(() => lanes.next({ doubtful: false })).map(({ subscriptionId }) => subscriptionId)
    expect(begun).toEqual(['quick', 'quick'])
    expect(lanes.next({ doubtful: true })?.subscriptionId).toBe('dead')
  })

  it('[J3] one that is doubtful leaves something of their share to the next', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(16, (id) => id !== 'quick')
    for (const id of ['slow-1', 'slow-2', 'new']) for (const job of jobs(id, 20)) lanes.add(job)
    const begun = drain(() => lanes.next()).map(({ subscriptionId }) => subscriptionId)
    expect(begun).toEqual(['slow-1', 'slow-2', 'new', 'slow-1', 'slow-2', 'new'])
  })

  it('[J3] for one that is doubtful no more is claimed than would be held', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(16, (id) => id !== 'quick')
    const add = (job: { subscriptionId: string; n: number }) => {
      expect(lanes.full()).toEqual([])
      lanes.add(job)
    }
    for (const job of jobs('slow', 8)) add(job)
    expect([lanes.roomFor('slow'), lanes.full()]).toEqual([0, ['slow']])
    for (const job of jobs('quick', 8)) lanes.add(job)
    expect([lanes.roomFor('quick'), lanes.full()]).toEqual([Number.POSITIVE_INFINITY, ['slow']])
    drain(() => lanes.next())
    lanes.done('slow')
    expect([lanes.roomFor('slow'), lanes.full()]).toEqual([1, []])
  })

  it('[J3] the room of one that is doubtful is what would be held of it, one by one', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(16, () => true)
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const room = lanes.roomFor(id)
      let held = 0
      for (; lanes.roomFor(id) > 0; held++) lanes.add({ subscriptionId: id, n: held })
      expect([id, room]).toEqual([id, held])
    }
    expect(lanes.roomForDoubtful()).toBeLessThan(2)
  })

  it('[J3] a single slot is for doubtful endpoints as well', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(1, () => true)
    for (const job of jobs('dead', 3)) lanes.add(job)
    expect(lanes.roomFor('other')).toBe(0)
    expect(drain(() => lanes.next())).toHaveLength(1)
  })

  it('[J3] what waits behind a slow endpoint takes no room from the others', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(10)
    for (const job of jobs('slow', 50)) lanes.add(job)
    drain(() => lanes.next())
    expect(lanes.room()).toBe(15)
    expect(lanes.full()).toEqual(['slow'])
    for (const job of jobs('other', 3)) lanes.add(job)
    expect(drain(() => lanes.next())).toHaveLength(3)
    expect(lanes.full()).toEqual(['slow'])
  })

  it('[J3] free slots go round among the subscriptions, each in its own order', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(4)
    for (const job of [...jobs('a', 3), ...jobs('b', 3), ...jobs('c', 3)]) lanes.add(job)
    const begun: string[] = []
    for (let job = lanes.next(); job !== undefined; job = lanes.next()) {
      begun.push(`${job.subscriptionId}${job.n}`)
      if (begun.length <= 5) lanes.done(job.subscriptionId)
    }
    expect(begun).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2'])
  })

  it('[J3] a job that may begin is found without a look at every subscription that has one', () => {
    let asked = 0
    const lanes = createLanes<{ subscriptionId: string; n: number }>(500, () => {
      asked += 1
      return false
    })
    for (let n = 0; n < 400; n++) for (const job of jobs(`${n}`, 1)) lanes.add(job)
    expect(drain(() => lanes.next())).toHaveLength(400)
    expect(asked).toBe(400)
  })

  it('[J5] withdrawn jobs are gone, those that run stay', () => {
    const lanes = createLanes<{ subscriptionId: string; n: number }>(2)
    for (const job of [...jobs('a', 3), ...jobs('b', 2)]) lanes.add(job)
    expect(drain(() => lanes.next())).toHaveLength(2)
    expect(lanes.withdraw(({ subscriptionId }) => subscriptionId === 'a')).toHaveLength(2)
    lanes.done('a')
    lanes.done('b')
    expect(drain(() => lanes.next())).toEqual([{ subscriptionId: 'b', n: 1 }])
    lanes.done('b')
    expect([lanes.room(), lanes.full()]).toEqual([4, []])
  })
})

describe('what a worker has passed over', () => {
  const at = (seconds: number) => new Date(seconds * 1000)
  const look = (freeSince: Date | undefined, takenUp: string[] = []) => ({ freeSince, takenUp })

  it('[J9] is not looked through again, but for what may have committed late', () => {
    const passed = rememberPassedOver()
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

  it('[J9] is left behind from where a look ended that was full of late commits', () => {
    const passed = rememberPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    expect(passed.from(['7'], 300)).toEqual(look(at(98)))
    passed.until(at(98.5))
    expect(passed.from(['7'], 301)).toEqual(look(at(98.4)))
    passed.until(at(101))
    expect(passed.from(['7'], 302)).toEqual(look(at(100.9)))
  })

  it('[J9] is looked through for the others late commits, however often somebody is taken up for a moment', () => {
    const passed = rememberPassedOver()
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

  it('[J9] is looked through from where a subscription was left, and what may have committed late with it', () => {
    const passed = rememberPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    passed.from(['7', '8'], 1)
    passed.until(at(110))
    expect(passed.from(['7', '8'], 2)).toEqual(look(at(109.9)))
    expect(passed.from(['7'], 3)).toEqual(look(at(98), ['8']))
  })

  it('[J9] costs the others nothing when some of it was taken: they go on from where they were', () => {
    const passed = rememberPassedOver()
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

  it('[J9] has a mark for each: a look that ends in the backlog of one takes nobody back', () => {
    const passed = rememberPassedOver()
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

  it('[J9] is remembered while the only one who was passed over is taken up again for a moment', () => {
    const passed = rememberPassedOver()
    passed.from(['7'], 0)
    passed.until(at(100))
    expect(passed.from([], 1)).toEqual(look(undefined, ['7']))
    passed.until(at(50))
    expect(passed.from(['7'], 2)).toEqual(look(at(99.9)))
    passed.until(at(101))
    expect(passed.from([], 3)).toEqual(look(at(48), ['7']))
  })

  it('[J9] is looked through when a subscription is taken up again, when none is passed over, and now and then', () => {
    const passed = rememberPassedOver()
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
