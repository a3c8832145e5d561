import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { floodPosts, readAnswer } from '../../bench/harness/flood-posts.js'

const servers: { server: Server; sockets: Set<Socket> }[] = []
afterEach(async () => {
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
})

/** A server of bytes: `answer` gets each request as it came, one for each piece that is read. */
async function serve(answer: (socket: Socket, request: string) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (request) => answer(socket, request.toString()))
  }).listen(0, '127.0.0.1')
  servers.push({ server, sockets })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/events`
}

const flood = (url: string, options: Partial<Parameters<typeof floodPosts>[0]> = {}) =>
  floodPosts({
    url,
    headers: { authorization: 'Bearer bench' },
    posts: 10,
    connections: 3,
    bodyOf: (index) => `"é ${index}"`,
    isAccepted: (status) => status === 202,
    ...options,
  })

const accepted = 'HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok'

describe('the flood of posts', () => {
  it('[O5] posts every body once, complete, over the given connections', async () => {
    const bodies: string[] = []
    const url = await serve((socket, request) => {
      const [head = '', body = ''] = request.split('\r\n\r\n')
      expect(head).toMatch(
        /^POST \/v1\/events HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nauthorization: Bearer bench\r\n/,
      )
      expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`)
      bodies.push(body)
      socket.write(accepted.slice(0, 30), () => socket.write(accepted.slice(30)))
    })
    await flood(url)
    expect(bodies.sort()).toEqual(Array.from({ length: 10 }, (_, index) => `"é ${index}"`))
  })

  it('[O5] keeps one request under way on each connection', async () => {
    const callers = new Set<Socket>()
    const url = await serve((socket) => {
      callers.add(socket)
      // No request is answered before all of them have arrived.
      if (callers.size === 3) for (const each of callers) each.write(accepted)
    })
    await flood(url, { posts: 3 })
    expect(callers.size).toBe(3)
  })

  it('[O5] counts an answer as complete when its last byte has arrived, and not before', () => {
    for (let end = 0; end < accepted.length; end++) expect(readAnswer(accepted.slice(0, end))).toBeUndefined()
    expect(readAnswer(accepted)).toEqual({ status: 202, body: 'ok' })
  })

  it.each([
    [
      'another status',
      'HTTP/1.1 503 Unavailable\r\nContent-Length: 4\r\n\r\nbusy',
      'answered with 503: busy',
    ],
    ['an answer whose end cannot be told', 'HTTP/1.1 202 Accepted\r\n\r\n', 'without a Content-Length'],
  ])('[O5] fails with %s', async (_what, answer, message) => {
    await expect(flood(await serve((socket) => socket.write(answer)))).rejects.toThrow(message)
  })

  it('[O5] fails when a connection is closed or silent for too long', async () => {
    await expect(flood(await serve((socket) => socket.end(accepted.slice(0, 30))))).rejects.toThrow('closed')
    await expect(flood(await serve(() => {}), { silenceMsMax: 1 })).rejects.toThrow('no answer for 1 ms')
  })
})
