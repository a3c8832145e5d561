import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stopServer } from '../../../src/database/embedded/stop-server.js'
import { findWatchers } from './find-watchers.js'
import { findServers, quick, useDataDir } from './make-folder.js'
import { connect, query } from './query-server.js'
import { startServerProcess } from './spawn-process.js'
import { startServer } from './start-server.js'
import { waitFor } from './wait-for.js'

const usedDataDir = useDataDir()

it('[O2] leaves no server when the process is killed with SIGKILL', async () => {
  const dataDir = await usedDataDir()
  const { child, answer, ended } = await startServerProcess({ dataDir, settings: quick })
  expect(findServers(dataDir)).toContain(answer.pid)
  expect(findWatchers(answer.pid)).toHaveLength(1)
  const client = await connect(answer.url)
  await client.query('CREATE TABLE kept (); BEGIN')
  child.kill('SIGKILL')
  await ended
  await waitFor('the server is gone', () => findServers(dataDir).length === 0)
  await waitFor('the watcher is gone', () => findWatchers(answer.pid).length === 0)
  const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8')
  expect(log).toMatch(/fast shutdown request[\s\S]*database system is shut down/)
})

it('[O2] ends together with a process that has nothing left to do, without a call of stop', async () => {
  const dataDir = await usedDataDir()
  const { say, answer, ended } = await startServerProcess({ dataDir, settings: quick })
  say('let-go')
  expect(await ended).toEqual([0, null])
  await waitFor('the server is gone', () => findServers(dataDir).length === 0)
  await waitFor('the watcher is gone', () => findWatchers(answer.pid).length === 0)
})

it('[O2] keeps the server out of reach of Ctrl-C in the terminal', async () => {
  const dataDir = await usedDataDir()
  const started = await startServerProcess({ dataDir, settings: quick }, { detached: true })
  process.kill(-(started.child.pid as number), 'SIGINT')
  expect(await started.nextLine()).toBe('interrupted')
  expect(await query(started.answer.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  started.say('stop')
  expect(await started.ended).toEqual([0, null])
  expect(findServers(dataDir)).toEqual([])
})

it('[O2] stops once, however often it is called, with clients connected', async () => {
  const dataDir = await usedDataDir()
  const server = await startServer({ dataDir, settings: quick })
  await connect(server.url)
  await Promise.all([server.stop(), server.stop()])
  await server.stop()
  expect(await server.exited).toEqual({ code: 0, signal: null, expected: true })
  expect(findServers(dataDir)).toEqual([])
  await waitFor('the watcher is gone', () => findWatchers(server.pid).length === 0)
  expect(readdirSync(join(dataDir, 'postgres'))).not.toContain('postmaster.pid')
})

it('[O2] reports a crash of the server, after which it can be stopped and started again', async () => {
  const dataDir = await usedDataDir()
  const server = await startServer({ dataDir, settings: quick })
  process.kill(server.pid, 'SIGKILL')
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL', expected: false })
  await server.stop()
  const again = await startServer({ dataDir, settings: quick })
  expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

it('[O2] shuts down at once a server that does not end fast enough', async () => {
  const dataDir = await usedDataDir()
  const server = await startServer({ dataDir, settings: quick })
  const client = await connect(server.url)
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  // A backend that does not react keeps a fast shutdown waiting for ever.
  process.kill(rows[0].pid, 'SIGSTOP')
  const signals: string[] = []
  const gone = await stopServer(
    {
      signal(name) {
        signals.push(name)
        process.kill(server.pid, name)
        // The postmaster would kill it after 5 s of an immediate shutdown.
        if (name === 'SIGQUIT') process.kill(rows[0].pid, 'SIGKILL')
      },
      gone: (limitMs) =>
        Promise.race([
          server.exited.then(() => true),
          new Promise<boolean>((resolve) => setTimeout(() => resolve(false), limitMs)),
        ]),
    },
    { fastShutdownMs: 300, immediateShutdownMs: 60_000 },
  )
  expect([gone, signals]).toEqual([true, ['SIGINT', 'SIGQUIT']])
})
