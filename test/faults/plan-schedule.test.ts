import { expect, it } from 'vitest'
import { faultKinds, PUBLISHER } from '../../faults/schedule/fault.js'
import { LOAD_MS, planSchedule } from '../../faults/schedule/plan-schedule.js'

const seeds = Array.from({ length: 600 }, (_, n) => n)

it('[O6] a seed reproduces its schedule, and another seed gives another', () => {
  for (const seed of seeds) expect(planSchedule(seed)).toEqual(planSchedule(seed))
  const different = new Set(seeds.map((seed) => JSON.stringify(planSchedule(seed).faults)))
  expect(different.size).toBeGreaterThan(seeds.length * 0.99)
})

it('[O6] all kinds of faults occur, within the time of the load', () => {
  const faults = seeds.flatMap((seed) => planSchedule(seed).faults)
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(faultKinds))
  expect(faults.filter(({ atMs }) => atMs < 0 || atMs > LOAD_MS)).toEqual([])
  expect(faults.filter((fault) => fault.kind === 'kill-at-mark' && fault.target === PUBLISHER)).toEqual([])
})

it('[O6] the disk is filled only where the data is on a file system of its own', () => {
  for (const seed of seeds) {
    const { disk, faults } = planSchedule(seed)
    if (disk === 'disk') expect(faults.filter(({ kind }) => kind === 'fill-disk')).toEqual([])
  }
})

it('[O6] only the requested kinds', () => {
  for (const seed of seeds.slice(0, 50)) {
    const { faults } = planSchedule(seed, ['kill', 'crash-postgres'])
    expect(faults.length).toBeGreaterThan(0)
    expect(faults.filter(({ kind }) => kind !== 'kill' && kind !== 'crash-postgres')).toEqual([])
  }
})
