import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { medianPercentiles, percentiles, summarise } from '../../bench/harness/summarise-samples.js'
import { judgeGoals } from '../../bench/report/judge-goals.js'

const root = new URL('../..', import.meta.url)
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sagapost-bench-test-'))
})
afterAll(() => rm(folder, { recursive: true }))

const bench = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['--import', 'tsx', 'bench/main.ts', ...args], { cwd: root })

describe('the benchmark', () => {
  it('[O5] measures every system in turn, checks the invariants, and writes what machines read', async () => {
    const json = join(folder, 'results.json')
    const args = ['--only', 'throughput', '--quick', '--rounds', '1', '--seconds', '0.1']
    const { stdout, stderr } = await bench(...args, '--json', json, '--plots', folder)
    const results = JSON.parse(await readFile(json, 'utf8'))
    expect(results).toMatchObject({
      deliveriesPerSecond: expect.any(Number),
      ratios: {
        bareLimit: expect.any(Number),
        graphileWorker: expect.any(Number),
        pgBoss: expect.any(Number),
      },
      // Not asked for: said so, not made up.
      latencyMs: { p50: null, p99: null },
      latency: null,
    })
    expect(results.throughput.memoryReadNs.min).toBeGreaterThan(0)
    const names = results.throughput.systems.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(['bare limit', 'Sagapost', 'Sagapost, separate', 'pg-boss']))
    expect(stderr).toContain('every invariant holds')
    expect(stdout).toContain('to graphile-worker')
    expect(await readFile(join(folder, 'throughput.svg'), 'utf8')).toContain('<svg')
    // Nine systems one after the other, each with processes of its own: 170 s at load 14.
  }, 1_200_000)

  it('[O5] refuses an unknown argument with one line and the usage', async () => {
    const failed = await bench('--only', 'everything').catch((error) => error)
    expect(failed.code).toBe(2)
    expect(failed.stderr).toMatch(/^--only knows throughput, .*, not "everything"/)
  })
})

describe('its figures', () => {
  it('[O5] are medians with their spread, and percentiles only of a thousand samples', () => {
    expect(summarise([3, 1, 2, 10])).toEqual({ median: 2.5, min: 1, max: 10 })
    const thousand = Array.from({ length: 1000 }, (_, index) => index)
    expect(percentiles(thousand)).toMatchObject({
      samples: 1000,
      p50: 499.5,
      p99: expect.closeTo(989.01),
      max: 999,
    })
    expect(percentiles(thousand.slice(1))).toMatchObject({ samples: 999, p50: null, p99: null })
    const turns = [1, 30, 2].map((times) => percentiles(thousand.map((sample) => sample * times)))
    expect(medianPercentiles(turns)).toEqual({ ...turns[2], samples: 3_000 })
    expect(medianPercentiles([percentiles([1])])).toMatchObject({ samples: 1, p99: null, max: 1 })
  })

  it('[O5] are judged by the goals that they are there for', () => {
    const none = {
      throughput: null,
      latency: null,
      fanOut: null,
      largeFanOut: null,
      partitions: null,
      ingestion: null,
      isolation: null,
      endpoints: null,
      growth: null,
      memory: null,
    }
    const judged = (postgresPercent: number) =>
      judgeGoals({ ...none, idle: { nodePercent: 1, postgresPercent, memoryMb: 90 } })
    expect(judged(0.5)).toEqual([{ goal: 'idle, % of a core', target: '≤ 2', value: 1.5, met: true }])
    expect(judged(1.5)).toMatchObject([{ value: 2.5, met: false }])
  })
})
