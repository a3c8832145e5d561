import { PassThrough } from 'node:stream'
import fastify, { type preParsingHookHandler } from 'fastify'
import { expect, it } from 'vitest'
import { limitBytesInFlight } from '../../src/http/limit-bytes-in-flight.js'

const BYTES_MAX = 1_000

it('[E1] bytes of a body after its answer are not counted, since nothing would release them', async () => {
  const api = fastify({ bodyLimit: BYTES_MAX, forceCloseConnections: true })
  let answered: (() => void) | undefined
  api.addHook('onRequest', (_request, reply, done) => {
    answered ??= () => reply.raw.emit('close')
    done()
  })
  let late: PassThrough | undefined
  const lateBody: preParsingHookHandler = (_request, _reply, body, done) => {
    if (late) return done(null, body)
    late = new PassThrough()
    done(null, late)
  }
  api.addHook('preParsing', lateBody)
  limitBytesInFlight(api, BYTES_MAX)
  api.post('/', async () => 'taken')
  await api.listen({ port: 0, host: '127.0.0.1' })
  try {
    const { port } = api.addresses()[0] as { port: number }
    const post = (size: number) =>
      fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob([JSON.stringify('x'.repeat(size - 2))]).stream(),
        duplex: 'half',
      } as RequestInit)
    post(10).catch(() => {}) // ends with the server
    await expect.poll(() => late).toBeDefined()
    answered?.()
    late?.write('x'.repeat(500))
    expect((await post(900)).status).toBe(200)
  } finally {
    await api.close()
  }
})
