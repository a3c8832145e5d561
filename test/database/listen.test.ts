import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type ListenOptions, listen } from '../../src/database/listen.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const ends: (() => Promise<unknown>)[] = []

afterEach(async () => {
  vi.useRealTimers()
  for (const end of ends.splice(0)) await end()
})

function start(options: Partial<ListenOptions> = {}) {
  const heard: string[] = []
  const losses: string[] = []
  let times = 0
  const listener = listen({
    databaseUrl: database.url,
    channel: 'test channel',
    onNotification: (payload) => heard.push(payload),
    onListening: () => {
      times += 1
    },
    onLost: (error) => losses.push(error.message),
    ...options,
  })
  ends.push(() => listener.stop())
  return { listener, heard, losses, times: () => times }
}

const cut = () =>
  database.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'sagapost listen' AND datname = current_database()`,
  )

/** A server that speaks no PostgreSQL. */
async function startServer(onConnection: (socket: Socket) => void): Promise<{ url: string; server: Server }> {
  const server = createServer(onConnection).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => new Promise((resolve) => server.close(resolve)))
  return { url: `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/nowhere`, server }
}

describe('a listener', () => {
  it('[R1] hears its channel and, after every loss, hears it again; each loss is reported once', async () => {
    const { listener, heard, losses, times } = start()
    for (const n of [1, 2, 3]) {
      await expect.poll(times).toBe(n)
      expect([listener.isListening(), losses.length]).toEqual([true, n - 1])
      await database.pool.query(`SELECT pg_notify('test channel', $1)`, [`news ${n}`])
      await expect.poll(() => heard.at(-1)).toBe(`news ${n}`)
      if (n === 3) break
      await cut()
      await expect.poll(listener.isListening).toBe(false)
    }
    expect(heard).toEqual(['news 1', 'news 2', 'news 3'])
  })

  it('[R1] reports once that a server refuses it, however often it tries', async () => {
    let tries = 0
    const { url } = await startServer((socket) => {
      tries += 1
      socket.destroy()
    })
    const { listener, losses } = start({ databaseUrl: url })
    await expect.poll(() => tries).toBeGreaterThanOrEqual(3)
    expect([losses.length, listener.isListening()]).toEqual([1, false])
  })

  it('[O6] does not reconnect after it was stopped, even when a retry was due', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let tries = 0
    const { url } = await startServer((socket) => {
      tries += 1
      socket.destroy()
    })
    const { listener, losses } = start({ databaseUrl: url })
    await vi.waitUntil(() => losses.length === 1, { timeout: 60_000 })
    await listener.stop()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(tries).toBe(1)
  })

  it('[O6] stops soon although the server never answers, and leaves no connection', async () => {
    // From the start: the connection's own time-out must not do the work of the stop.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let accept = (_socket: Socket) => {}
    const accepted = new Promise<Socket>((resolve) => {
      accept = resolve
    })
    const { url } = await startServer((socket) => {
      socket.on('error', () => {})
      socket.resume()
      accept(socket)
    })
    const { listener, losses } = start({ databaseUrl: url })
    const closed = once(await accepted, 'close')
    let stopped = false
    const stopping = listener.stop().then(() => {
      stopped = true
    })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(stopped).toBe(true)
    await Promise.all([stopping, closed])
    expect(losses).toEqual([])
  })

  it('[O6] stopped while it listens disconnects cleanly and reports no loss', async () => {
    const { listener, losses, times } = start()
    await expect.poll(times).toBe(1)
    await listener.stop()
    // Of this database: other test files on the same server listen as well.
    const left = async () =>
      (
        await database.pool.query(
          `SELECT FROM pg_stat_activity
           WHERE application_name = 'sagapost listen' AND datname = current_database()`,
        )
      ).rowCount
    await expect.poll(left).toBe(0)
    expect(losses).toEqual([])
  })
})
