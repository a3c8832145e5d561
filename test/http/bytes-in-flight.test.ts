import { once } from 'node:events'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createKey } from '../../src/api-keys/index.js'
import { useDatabase } from '../support/database.js'
import { countLockWaiters } from '../support/lock-waiters.js'
import { adminKey, useApi } from './api-server.js'
import { withholdBody } from './withhold-body.js'

const MIB = 1024 * 1024
const PAUSE_MS = 500
const chunk = `${MIB.toString(16)}\r\n${' '.repeat(MIB)}\r\n`

describe('bodies under way', () => {
  const database = useDatabase()
  const api = useApi(database)

  const large = { events: [{ type: 't', payload: 'x'.repeat(100_000) }] }
  const publish = (body: object, key = adminKey) => api.call('POST', '/v1/events/batch', { key, body })

  it('[E1] of one key hold at most 64 MiB; small ones and other keys are not refused', async () => {
    const { key: other } = await createKey(database.as('api_key_admin'), { name: 'other', scope: 'ingest' })
    const held = await Promise.all(
      Array.from({ length: 4 }, () => withholdBody(api.url, `Content-Length: ${16 * MIB}`)),
    )
    try {
      await expect.poll(async () => (await publish(large)).status).toBe(429)
      const refused = await publish(large)
      expect(refused.body.code).toBe('too_much_at_once')
      expect(refused.headers.get('retry-after')).toBe('1')
      const small = { events: [{ type: 't', payload: 1 }] }
      expect((await publish(small)).status).toBe(202)
      expect((await publish(large, other)).status).toBe(202)
    } finally {
      for (const socket of held) socket.destroy()
    }
    await expect.poll(async () => (await publish(large)).status).toBe(202)
  })

  it('[E1] without a length count by the bytes received', async () => {
    const held = await Promise.all(
      Array.from({ length: 8 }, () => withholdBody(api.url, 'Transfer-Encoding: chunked')),
    )
    try {
      // 72 MiB: one of them is the first over the limit, whatever the order in which they come.
      const answers = held.map((socket) => once(socket, 'data').then(String))
      for (const socket of held) for (let sent = 0; sent < 9; sent++) socket.write(chunk)
      expect(await Promise.any(answers)).toMatch(/^HTTP\/1.1 429 [\s\S]*too_much_at_once/)
    } finally {
      for (const socket of held) socket.destroy()
    }
    await expect.poll(async () => (await publish(large)).status).toBe(202)
  })

  it('[E1] that are refused for their own size are read to the end, also over the limit', async () => {
    const held = await Promise.all(
      Array.from({ length: 2 }, () => withholdBody(api.url, `Content-Length: ${16 * MIB}`)),
    )
    const tooLarge = await withholdBody(api.url, 'Transfer-Encoding: chunked')
    try {
      const answer = once(tooLarge, 'data').then(String)
      for (let sent = 0; sent < 24; sent++) tooLarge.write(chunk)
      const written = promisify(
        tooLarge.write.bind(tooLarge) as (text: string, done: (error?: Error | null) => void) => void,
      )
      await written('0\r\n\r\n')
      expect(await answer).toMatch(/^HTTP\/1.1 413 [\s\S]*request_too_large/)
    } finally {
      for (const socket of [...held, tooLarge]) socket.destroy()
    }
    await expect.poll(async () => (await publish(large)).status).toBe(202)
  })

  it('[E1] that are refused are read to the end by a process that was busy meanwhile', async () => {
    const socket = await withholdBody(api.url, 'Transfer-Encoding: chunked')
    const write = promisify(
      socket.write.bind(socket) as (text: string, done: (error?: Error | null) => void) => void,
    )
    try {
      const answer = once(socket, 'data').then(String)
      for (let sent = 0; sent < 20; sent++) await write(chunk)
      await setTimeout(PAUSE_MS / 5)
      const rest = Promise.all(Array.from({ length: 20 }, () => write(chunk)))
      // At the end of a round of the event loop, so that the next one begins with the timers that are over.
      await setImmediate()
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS * 1.5)
      await rest
      await write('0\r\n\r\n')
      expect(await answer).toMatch(/^HTTP\/1.1 413 [\s\S]*request_too_large/)
    } finally {
      socket.destroy()
    }
  })

  it('[E1] whose client disconnects while its key is looked up leave nothing behind', async () => {
    const { key } = await createKey(database.as('api_key_admin'), { name: 'gone', scope: 'ingest' })
    const locking = await database.pool.connect()
    try {
      await locking.query('BEGIN; LOCK TABLE sagapost.api_keys')
      const held = await Promise.all(
        Array.from({ length: 4 }, () => withholdBody(api.url, `Content-Length: ${16 * MIB}`, key)),
      )
      await expect.poll(() => countLockWaiters(database.pool)).toBeGreaterThan(0)
      await Promise.all(
        held.map(async (socket) => {
          socket.destroy()
          await once(socket, 'close')
        }),
      )
      await setTimeout(PAUSE_MS)
    } finally {
      await locking.query('ROLLBACK')
      locking.release()
    }
    await expect.poll(async () => (await publish(large, key)).status, { timeout: 20_000 }).toBe(202)
  })
})
