import { expect, it } from 'vitest'
import { benchDoubtful } from '../../src/worker/bench-doubtful.js'
import { createLanes } from '../../src/worker/lanes.js'

interface Job {
  subscriptionId: string
}

/** Eight slots: four for doubtful endpoints, who may hold eight jobs, and four of them for one. */
function start() {
  const answering = new Set(['good'])
  const isDoubtful = (id: string) => !answering.has(id)
  const lanes = createLanes<Job>(8, isDoubtful)
  const bench = benchDoubtful<Job>(lanes, isDoubtful)
  /** Those that go back. */
  const hold = (...ids: string[]) =>
    bench.add(ids.map((subscriptionId) => ({ subscriptionId }))).map(({ subscriptionId }) => subscriptionId)
  const begin = () => {
    const begun: string[] = []
    for (let job = lanes.next(); job !== undefined; job = lanes.next()) begun.push(job.subscriptionId)
    return begun
  }
  return { answering, lanes, bench, hold, begin }
}

it('[J3] no more is held of doubtful endpoints than their share, and whoever came too many is not asked for', () => {
  const { bench, hold, begin } = start()
  expect([bench.benched(0), bench.lookInMs()]).toEqual([[], Number.POSITIVE_INFINITY])
  expect(hold('a', 'b', 'good', 'c', 'd', 'e', 'f', 'good', 'g', 'h', 'i', 'j', 'j')).toEqual(['i', 'j', 'j'])
  expect(new Set(bench.benched(0))).toEqual(new Set('abcdefghij'))
  expect(hold('good', 'k')).toEqual(['k'])
  expect(begin().sort()).toEqual(['a', 'b', 'c', 'd', 'good', 'good'])
})

it('[J3] one of them leaves room for the next, however much it has', () => {
  const { hold, begin } = start()
  expect(hold(...Array<string>(20).fill('a'))).toHaveLength(16)
  expect(hold(...Array<string>(20).fill('b'))).toHaveLength(18)
  expect(hold('c', 'd', 'e')).toEqual(['e'])
  expect(begin().sort()).toEqual(['a', 'b', 'c', 'd'])
})

it('[J3] as many come back as there is room for, the longest first, and not more than once a second', () => {
  const { lanes, bench, hold, begin } = start()
  expect(hold(...'abcdefghijk')).toEqual(['i', 'j', 'k'])
  begin()
  lanes.done('a')
  expect(bench.benched(5_000)).toEqual(['j', 'k'])
  expect(hold('i')).toEqual([])
  lanes.done('b')
  expect(bench.benched(5_999)).toEqual(['j', 'k'])
  expect(bench.lookInMs()).toBe(1_000)
  expect(bench.benched(6_000)).toEqual(['k'])
})

it('[J3] whoever has answered is taken up at once', () => {
  const { answering, bench, hold } = start()
  expect(hold(...'abcdefghij')).toEqual(['i', 'j'])
  answering.add('j')
  expect(bench.benched(0)).not.toContain('j')
  expect(hold('j', 'j', 'i')).toEqual(['i'])
})

it('[J3] those who stand in line behind are passed over with them, unless they have answered', () => {
  const { bench, hold, lanes, begin } = start()
  expect(hold(...'abcdefghi')).toEqual(['i'])
  bench.passOver(['i', 'good', 'j', 'k'])
  begin()
  lanes.done('a')
  expect(bench.benched(0)).toEqual(['j', 'k'])
})
