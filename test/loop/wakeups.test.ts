import { afterEach, expect, it, vi } from 'vitest'
import { createWakeups, type Signal, type Stage } from '../../src/loop/index.js'

afterEach(() => {
  vi.useRealTimers()
})

/** A process that runs what waits for these stages; `told` is what it says to the others. */
function startProcess(waitsFor: readonly Stage[]) {
  vi.useFakeTimers({ toFake: ['performance'] })
  const wakeups = createWakeups()
  const told: Signal[] = []
  wakeups.passOnTo((signal) => told.push(signal))
  for (const stage of waitsFor) wakeups.onWake(stage, () => {})
  return { ...wakeups, told }
}

it('[R1] a backlog is announced to other processes ten times a second, for as long as it lasts', () => {
  const worker = startProcess(['claims'])
  worker.tellBacklog(true)
  worker.tellBacklog(true)
  expect(worker.told).toEqual(['backlog'])
  vi.advanceTimersByTime(100)
  worker.tellBacklog(true)
  expect(worker.told).toEqual(['backlog', 'backlog'])
  vi.advanceTimersByTime(100)
  worker.tellBacklog(false)
  expect(worker.told).toEqual(['backlog', 'backlog'])
})

it.each<[string, Stage[], Signal[]]>([
  ['a router and an orchestrator', ['routing', 'first-jobs', 'claims'], []],
  ['a router alone', ['routing', 'claims'], ['backlog']],
  ['an orchestrator alone', ['first-jobs', 'claims'], ['backlog']],
])('[R1] workers beside %s', (_, stages, told) => {
  const process = startProcess(stages)
  process.tellBacklog(true)
  expect(process.told).toEqual(told)
})

it('[R1] where workers run, only their own backlog counts', () => {
  const process = startProcess(['first-jobs', 'claims'])
  process.tellBacklog(true)
  expect(process.hasBacklog()).toBe(true)
  process.tellBacklog(false)
  process.hearBacklog()
  expect(process.hasBacklog()).toBe(false)
})

it('[R1] where no worker runs, the announcements of others count for a moment', () => {
  const process = startProcess(['first-jobs'])
  expect(process.hasBacklog()).toBe(false)
  process.hearBacklog()
  expect(process.hasBacklog()).toBe(true)
  vi.advanceTimersByTime(199)
  expect(process.hasBacklog()).toBe(true)
  vi.advanceTimersByTime(1)
  expect(process.hasBacklog()).toBe(false)
})
