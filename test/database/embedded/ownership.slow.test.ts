import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { readStartMark } from '../../../src/database/embedded/identify-process.js'
import { takeOwnership } from '../../../src/database/embedded/take-ownership.js'
import { findServers, makeFolder, quick, useDataDir } from './make-folder.js'
import { query } from './query-server.js'
import { spawnOwnerProcess, spawnServerProcess, startServerProcess } from './spawn-process.js'
import { startServer } from './start-server.js'
import { waitFor } from './wait-for.js'

const usedDataDir = useDataDir()

const owner = (values: object) =>
  JSON.stringify({ startedAt: '2020-01-01T00:00:00.000Z', released: false, ...values })

it('[O2] names the owner of the data directory to the second process, on one line', async () => {
  const dataDir = await usedDataDir()
  const first = await startServerProcess({ dataDir, settings: quick })
  const second = await startServerProcess({ dataDir, settings: quick })
  const port = new URL(first.answer.url).port
  expect(second.answer.code).toBe('data_dir_in_use')
  expect(second.answer.message).toMatch(
    new RegExp(
      `^The data directory ${dataDir} is in use by process ${first.child.pid}, started at 20\\S+Z, its PostgreSQL on 127.0.0.1:${port}$`,
    ),
  )
  expect(await query(first.answer.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  first.say('stop')
  await first.ended
  const third = await startServer({ dataDir, settings: quick })
  expect(third.pid).not.toBe(first.answer.pid)
})

it('[O2] has one winner when several processes start at once on a new directory', async () => {
  const dataDir = join(makeFolder(), 'data')
  const racers = Array.from({ length: 5 }, () => spawnServerProcess({ dataDir, settings: quick }))
  const answers = await Promise.all(racers.map(async (racer) => JSON.parse(await racer.nextLine())))
  const codes = answers.map((answer) => answer.code ?? 'started').sort()
  expect(codes).toEqual([...Array(4).fill('data_dir_in_use'), 'started'])
  expect(findServers(dataDir)).toContain(answers.find((answer) => answer.pid).pid)
})

it('[O2] has one winner in each of 100 rounds of 6 processes, on new, stale and released directories', async () => {
  const folder = makeFolder()
  const racers = Array.from({ length: 6 }, () => spawnOwnerProcess())
  const dead = spawnSync('/bin/true').pid
  const wins: number[] = []
  for (let round = 0; round < 100; round += 1) {
    const dir = join(folder, String(round))
    mkdirSync(dir)
    if (round % 3 === 1) writeFileSync(join(dir, 'owner.7.json'), owner({ pid: dead, startMark: 'x' }))
    if (round % 3 === 2) writeFileSync(join(dir, 'owner.7.json'), owner({ pid: process.pid, released: true }))
    for (const racer of racers) racer.say(`take ${dir}`)
    const results = await Promise.all(racers.map((racer) => racer.nextLine()))
    wins.push(results.filter((result) => result === 'won').length)
    for (const racer of racers) racer.say('release')
    await Promise.all(racers.map((racer) => racer.nextLine()))
    expect(readdirSync(dir)).toHaveLength(1)
  }
  expect(wins).toEqual(Array(100).fill(1))
})

it('[O2] never has two owners while 6 processes take and release it as fast as they can', async () => {
  const dir = makeFolder()
  const racers = Array.from({ length: 6 }, () => spawnOwnerProcess())
  const counts: { taken: number; shared: number }[] = []
  const total = (key: 'taken' | 'shared') => counts.reduce((sum, count) => sum + count[key], 0)
  // Again where a slow disk lets them take it a few times only.
  do {
    for (const racer of racers) racer.say(`churn ${dir} 2000`)
    counts.push(...(await Promise.all(racers.map(async (racer) => JSON.parse(await racer.nextLine())))))
  } while (total('taken') <= 50)
  expect(total('shared')).toBe(0)
})

it('[O2] does not mistake a later process with the same pid for the owner', async () => {
  const dir = makeFolder()
  writeFileSync(join(dir, 'owner.1.json'), owner({ pid: process.pid, startMark: 'an earlier process' }))
  const ownership = await takeOwnership(dir)
  expect(readdirSync(dir)).toEqual(['owner.2.json'])
  await ownership.release()
  writeFileSync(join(dir, 'owner.3.json'), owner({ pid: process.pid, startMark: readStartMark(process.pid) }))
  await expect(takeOwnership(dir)).rejects.toMatchObject({ code: 'data_dir_in_use' })
})

it('[O2] counts a zombie process as ended', async () => {
  // The shell becomes a sleep, which never waits for the cat; that ends with the pipe and stays a zombie.
  const script = 'cat <&3 & echo $!; exec sleep 600 3<&-'
  const parent = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [chunk] = await once(parent.stdout as Readable, 'data')
  const pid = Number(String(chunk))
  await waitFor('it is a sleep', () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n')
  const pipe = parent.stdio[3] as Writable
  pipe.end()
  await waitFor('it is a zombie', () => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '))
  const dir = makeFolder()
  writeFileSync(join(dir, 'owner.1.json'), owner({ pid }))
  await (await takeOwnership(dir)).release()
})
