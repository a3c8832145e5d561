import { once } from 'node:events'
import { type AddressInfo, createServer, connect as netConnect, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeCertificate, type ServerCertificate } from '../../src/cli/make-certificate.js'
import {
  createWebhookSender,
  generateSecret,
  type WebhookOutcome,
  type WebhookSender,
} from '../../src/webhook/index.js'
import { createSenderWithLookup } from '../../src/webhook/webhook-sender.js'
import { waitFor } from '../database/embedded/wait-for.js'

/**
 * Short, for receivers that never end; only the outcome is asserted, never the time. On a busy machine the time may be up
 * before the receiver has said what it had to say: then it gets the long one.
 */
const SHORT_MS = 300

/** Long, for receivers whose fault must be noticed by itself and not by the deadline. */
const LONG_MS = 30_000

let certificate: ServerCertificate
let patient: WebhookSender
let impatient: WebhookSender
const servers: { stop(): Promise<void> }[] = []

beforeAll(async () => {
  certificate = await makeCertificate()
  patient = createSender(LONG_MS)
  impatient = createSender(SHORT_MS)
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})
afterAll(async () => {
  await patient.close()
  await impatient.close()
})

function createSender(requestTimeoutMs: number): WebhookSender {
  return createWebhookSender({
    requestTimeoutMs,
    allowedCidrs: ['127.0.0.0/8', '::1/128'],
    extraCertificateAuthorities: [certificate.certificateAuthority],
  })
}

async function listen(server: Server): Promise<{ url: string; port: number; open: Set<Socket> }> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push({
    async stop() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  })
  const { port } = server.address() as AddressInfo
  return { url: `https://127.0.0.1:${port}/`, port, open }
}

/** Speaks TLS, waits for the request's first bytes, then misbehaves. */
function tlsServer(misbehave: (socket: TLSSocket) => void, shown = certificate): Server {
  const server = createTlsServer({ cert: shown.certificate, key: shown.privateKey }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.resume()
      misbehave(socket)
    })
  })
  server.on('tlsClientError', () => {})
  return server
}

const send = (sender: WebhookSender, url: string): Promise<WebhookOutcome> =>
  sender.send({
    url,
    webhookId: 'evt_1',
    body: Buffer.from('{}'),
    secrets: [generateSecret()],
    headers: {},
  })

/** Writes the chunk again and again, as fast as the other side takes it. */
function flood(socket: TLSSocket, chunk: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', more)
  more()
}

/** Writes the chunk every few milliseconds, so that no idle time-out ever sees a pause. */
function drip(socket: TLSSocket, chunk: string): void {
  const timer = setInterval(() => socket.write(chunk), 10)
  socket.on('close', () => clearInterval(timer))
}

const ok = 'HTTP/1.1 200 OK\r\n'

interface Case {
  title: string
  sender: () => WebhookSender
  misbehave: (socket: TLSSocket) => void
  outcome: Record<string, unknown>
}

const never: Omit<Case, 'title' | 'misbehave' | 'outcome'> = { sender: () => impatient }
const atOnce: Omit<Case, 'title' | 'misbehave' | 'outcome'> = { sender: () => patient }
const timedOut = { delivered: false, errorCode: 'timeout' }
const reset = { delivered: false, errorCode: 'connection_reset' }
const invalid = { delivered: false, errorCode: 'invalid_response' }

const cases: Case[] = [
  { title: 'hangs before its headers', ...never, misbehave: () => {}, outcome: timedOut },
  {
    title: 'hangs within its headers',
    ...never,
    misbehave: (socket) => socket.write(`${ok}x-a: `),
    outcome: timedOut,
  },
  {
    title: 'hangs after its headers',
    ...never,
    misbehave: (socket) => socket.write(`${ok}content-length: 10\r\n\r\n`),
    outcome: { ...timedOut, responseStatus: 200 },
  },
  {
    title: 'hangs in its body',
    ...never,
    misbehave: (socket) => socket.write(`${ok}content-length: 10\r\n\r\nabc`),
    outcome: { ...timedOut, responseStatus: 200, responseExcerpt: 'abc' },
  },
  {
    title: 'hangs after the headers of a 500, which is then the reason',
    ...never,
    misbehave: (socket) => socket.write('HTTP/1.1 500 Oops\r\ncontent-length: 10\r\n\r\nabc'),
    outcome: { delivered: false, errorCode: 'http_500', responseStatus: 500, responseExcerpt: 'abc' },
  },
  {
    title: 'drips its headers',
    ...never,
    misbehave: (socket) => {
      socket.write(`${ok}x-a: `)
      drip(socket, 'a')
    },
    outcome: timedOut,
  },
  {
    title: 'drips its body',
    ...never,
    misbehave: (socket) => {
      socket.write(`${ok}transfer-encoding: chunked\r\n\r\n`)
      drip(socket, '1\r\na\r\n')
    },
    outcome: { ...timedOut, responseStatus: 200 },
  },
  {
    title: 'drips interim responses',
    ...never,
    misbehave: (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 50)
      socket.on('close', () => clearInterval(timer))
    },
    outcome: timedOut,
  },
  {
    title: 'sends an endless chunk extension',
    ...never,
    misbehave: (socket) => {
      socket.write(`${ok}transfer-encoding: chunked\r\n\r\n1;`)
      flood(socket, 'a'.repeat(16_384))
    },
    outcome: { ...timedOut, responseStatus: 200 },
  },
  {
    title: 'sends thousands of interim responses',
    ...atOnce,
    misbehave: (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1_000)),
    outcome: invalid,
  },
  {
    title: 'sends 100 Continue, for which nobody asked',
    ...atOnce,
    misbehave: (socket) => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000)),
    outcome: invalid,
  },
  {
    title: 'switches protocols',
    ...atOnce,
    misbehave: (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    outcome: invalid,
  },
  {
    title: 'sends 1 MB of headers',
    ...atOnce,
    misbehave: (socket) => socket.write(`${ok}${`x-a: ${'a'.repeat(1_000)}\r\n`.repeat(1_000)}\r\n`),
    outcome: invalid,
  },
  {
    title: 'sends one endless header',
    ...atOnce,
    misbehave: (socket) => {
      socket.write(`${ok}x-a: `)
      flood(socket, 'a'.repeat(16_384))
    },
    outcome: invalid,
  },
  {
    title: 'sends endless trailers',
    ...atOnce,
    misbehave: (socket) => {
      socket.write(`${ok}transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n`)
      flood(socket, `x-a: ${'a'.repeat(1_000)}\r\n`)
    },
    outcome: invalid,
  },
  {
    title: 'sends an endless body, of which 64 KiB are read (its 2xx counts, its connection is dropped)',
    ...atOnce,
    misbehave: (socket) => {
      socket.write(`${ok}\r\n`)
      flood(socket, 'a'.repeat(16_384))
    },
    outcome: { delivered: true, responseStatus: 200, responseExcerpt: 'a'.repeat(2_000) },
  },
  {
    title: 'sends an endless body after a 404',
    ...atOnce,
    misbehave: (socket) => {
      socket.write('HTTP/1.1 404 Not Found\r\n\r\n')
      flood(socket, 'a'.repeat(16_384))
    },
    outcome: { delivered: false, errorCode: 'http_404', responseExcerpt: 'a'.repeat(2_000) },
  },
  {
    title: 'sends a gzip bomb, which is not decompressed',
    ...atOnce,
    misbehave: (socket) => {
      const bomb = gzipSync(Buffer.alloc(20_000_000))
      socket.write(`${ok}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`)
      socket.write(bomb)
    },
    outcome: { delivered: true, responseStatus: 200 },
  },
  { title: 'closes without a word', ...atOnce, misbehave: (socket) => socket.end(), outcome: reset },
  {
    title: 'closes in its headers',
    ...atOnce,
    misbehave: (socket) => socket.end(`${ok}x-a: b`),
    outcome: reset,
  },
  {
    title: 'closes in its body',
    ...atOnce,
    misbehave: (socket) => socket.end(`${ok}content-length: 10\r\n\r\nabc`),
    outcome: { ...reset, responseStatus: 200 },
  },
  {
    title: 'closes in a body that was announced as the last',
    ...atOnce,
    misbehave: (socket) => socket.end(`${ok}connection: close\r\ncontent-length: 10\r\n\r\nabc`),
    outcome: { ...reset, responseStatus: 200 },
  },
  {
    title: 'closes in a chunked body',
    ...atOnce,
    misbehave: (socket) => socket.end(`${ok}transfer-encoding: chunked\r\n\r\n5\r\nabc`),
    outcome: { ...reset, responseStatus: 200 },
  },
  {
    title: 'closes in a chunked body that was announced as the last',
    ...atOnce,
    misbehave: (socket) => socket.end(`${ok}connection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc`),
    outcome: { ...reset, responseStatus: 200 },
  },
  {
    title: 'does not speak HTTP',
    ...atOnce,
    misbehave: (socket) => socket.write('220 mail.example ESMTP\r\n'),
    outcome: invalid,
  },
  {
    title: 'sends binary',
    ...atOnce,
    misbehave: (socket) => socket.write(Buffer.alloc(1_000, 0xff)),
    outcome: invalid,
  },
  {
    title: 'sends a status that is none',
    ...atOnce,
    misbehave: (socket) => socket.write('HTTP/1.1 2000 OK\r\n\r\n'),
    outcome: invalid,
  },
  {
    title: 'contradicts itself about its length',
    ...atOnce,
    misbehave: (socket) =>
      socket.write(`${ok}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`),
    outcome: invalid,
  },
  {
    title: 'breaks its chunks',
    ...atOnce,
    misbehave: (socket) => socket.write(`${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`),
    outcome: { ...invalid, responseStatus: 200 },
  },
]

describe('a receiver that', () => {
  it.each(cases)('[J6] $title: the outcome is known and the connection closes', async (hostile) => {
    const { url, open } = await listen(tlsServer(hostile.misbehave))
    const outcome = await send(hostile.sender(), url)
    const isTooEarly = hostile.sender() === impatient && outcome.responseStatus === undefined
    const isCut = isTooEarly && 'responseStatus' in hostile.outcome
    expect(isCut ? await send(patient, url) : outcome).toMatchObject(hostile.outcome)
    if (hostile.outcome['delivered'] && hostile.title.includes('gzip')) return
    await waitFor('the connection closes', () => open.size === 0)
  })

  it('[J6] answers twice gets no second request on that connection', async () => {
    const { url, open } = await listen(
      tlsServer((socket) => socket.write(`${ok}content-length: 0\r\n\r\n`.repeat(2))),
    )
    await send(patient, url)
    await waitFor('the connection closes', () => open.size === 0)
  })

  it('[J6] stalls in the TLS handshake ends with timeout, and its connection closes', async () => {
    const { url, open } = await listen(createServer((socket) => socket.resume()))
    expect(await send(impatient, url)).toMatchObject(timedOut)
    await waitFor('the connection closes', () => open.size === 0)
  })

  it('[J6] stalls in the TLS handshake is left at once when the sender closes', async () => {
    const { url, open } = await listen(createServer((socket) => socket.resume()))
    const sender = createSender(600_000)
    const sent = send(sender, url)
    await waitFor('the connection is there', () => open.size === 1)
    await sender.close()
    expect(await sent).toMatchObject({ delivered: false, errorCode: 'aborted' })
    await waitFor('the connection closes', () => open.size === 0)
  })

  it('[J6] drips in the TLS handshake ends with timeout', async () => {
    const { url, open } = await listen(
      createServer((socket) => {
        // A handshake record that announces 16 KiB and arrives byte by byte.
        socket.resume().write(Buffer.from([22, 3, 3, 0x40, 0]))
        const timer = setInterval(() => socket.write(Buffer.from([2])), 10)
        socket.on('close', () => clearInterval(timer))
      }),
    )
    expect(await send(impatient, url)).toMatchObject(timedOut)
    await waitFor('the connection closes', () => open.size === 0)
  })

  it('[J6] closes in the TLS handshake ends with tls_failed', async () => {
    const { url } = await listen(createServer((socket) => socket.once('data', () => socket.destroy())))
    expect(await send(patient, url)).toMatchObject({ errorCode: 'tls_failed' })
  })

  it('[J6] asks for a client certificate ends with tls_failed', async () => {
    const server = createTlsServer({
      cert: certificate.certificate,
      key: certificate.privateKey,
      requestCert: true,
      rejectUnauthorized: true,
    })
    const { url } = await listen(server)
    expect(await send(patient, url)).toMatchObject({
      errorCode: 'tls_failed',
    })
  })

  it('[J6] resets the connection in its body ends with connection_reset', async () => {
    let resetAll = () => {}
    const inner = await listen(
      tlsServer((socket) => {
        socket.write(`${ok}content-length: 100000\r\n\r\nabc`)
        setImmediate(() => resetAll())
      }),
    )
    // In front of it, since only a plain TCP socket can send RST.
    const outer = await listen(
      createServer((socket) => {
        const upstream = netConnect(inner.port, '127.0.0.1')
        upstream.on('error', () => {})
        socket.pipe(upstream).pipe(socket)
        resetAll = () => socket.resetAndDestroy()
      }),
    )
    expect(await send(patient, outer.url)).toMatchObject(reset)
    await waitFor('the connection closes', () => outer.open.size === 0)
  })

  it('[J6] does not read the request ends with timeout', async () => {
    const accepted: TLSSocket[] = []
    let isOver = false
    const server = createTlsServer(
      { cert: certificate.certificate, key: certificate.privateKey },
      (socket) => {
        accepted.push(socket.on('error', () => {}).pause())
        if (isOver) socket.resume() // a busy machine: the sender had given up before the handshake was done
      },
    )
    const { url, open } = await listen(server)
    const outcome = await impatient.send({
      url,
      webhookId: 'evt_1',
      body: Buffer.alloc(32 * 1024 * 1024),
      secrets: [generateSecret()],
      headers: {},
    })
    expect(outcome).toMatchObject(timedOut)
    isOver = true
    for (const socket of accepted) socket.resume() // Who does not read does not see the end either.
    await waitFor('the connection closes', () => open.size === 0)
  })
})

describe('a receiver that is merely old-fashioned or elaborate', () => {
  it.each([
    ['HTTP/1.0 and a body that ends with the connection', 'HTTP/1.0 200 OK\r\n\r\nthanks'],
    ['a body that ends with the connection', `${ok}connection: close\r\n\r\nthanks`],
    ['chunks and a trailer', `${ok}transfer-encoding: chunked\r\n\r\n6\r\nthanks\r\n0\r\nx-a: b\r\n\r\n`],
    [
      'early hints first',
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}content-length: 6\r\n\r\nthanks`,
    ],
    ['no reason phrase', 'HTTP/1.1 200\r\ncontent-length: 6\r\n\r\nthanks'],
  ])('[J6] is understood: %s', async (_what, response) => {
    const { url } = await listen(tlsServer((socket) => socket.end(response)))
    expect(await send(patient, url)).toMatchObject({ delivered: true, responseExcerpt: 'thanks' })
  })
})

describe('a certificate that', () => {
  const day = 86_400_000
  const refused = { delivered: false, errorCode: 'tls_invalid_certificate' }

  async function sendTo(shown: ServerCertificate, trusted: string, host = '127.0.0.1') {
    let requests = 0
    const { port } = await listen(
      tlsServer((socket) => {
        requests += 1
        socket.end(`${ok}content-length: 0\r\n\r\n`)
      }, shown),
    )
    const sender = createWebhookSender({
      requestTimeoutMs: LONG_MS,
      allowedCidrs: ['127.0.0.0/8', '::1/128'],
      extraCertificateAuthorities: [trusted],
    })
    try {
      const outcome = await send(sender, `https://${host}:${port}/`)
      if (!outcome.delivered) expect(requests).toBe(0)
      return outcome
    } finally {
      await sender.close()
    }
  }

  it('is valid is accepted, for an address and for a name', async () => {
    const shown = await makeCertificate()
    expect(await sendTo(shown, shown.certificateAuthority)).toMatchObject({ delivered: true })
    expect(await sendTo(shown, shown.certificateAuthority, 'localhost')).toMatchObject({ delivered: true })
  })

  it('belongs to one of several names is asked for by that name (SNI), and by none for an address', async () => {
    const asked: (string | false)[] = []
    const server = tlsServer((socket) => {
      asked.push((socket as TLSSocket & { servername: string | false }).servername)
      socket.end(`${ok}content-length: 0\r\n\r\n`)
    })
    const { port } = await listen(server)
    for (const host of ['localhost', '127.0.0.1']) {
      expect(await send(patient, `https://${host}:${port}/`)).toMatchObject({ delivered: true })
    }
    const sender = createSenderWithLookup(
      {
        requestTimeoutMs: LONG_MS,
        allowedCidrs: ['127.0.0.0/8'],
        extraCertificateAuthorities: [certificate.certificateAuthority],
      },
      async () => [{ address: '127.0.0.1', family: 4 }],
    )
    expect(await send(sender, `https://localhost.:${port}/`)).toMatchObject({ delivered: true })
    await sender.close()
    expect(asked).toEqual(['localhost', false, 'localhost'])
  })

  it('comes from an unknown authority is refused, and no request is sent', async () => {
    const shown = await makeCertificate()
    expect(await sendTo(shown, certificate.certificateAuthority)).toMatchObject(refused)
  })

  it('is signed by itself is refused', async () => {
    const shown = await makeCertificate()
    const { generate } = await import('selfsigned')
    const self = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
      keyType: 'ec',
      algorithm: 'sha256',
    })
    const selfSigned = { ...shown, certificate: self.cert, privateKey: self.private }
    expect(await sendTo(selfSigned, shown.certificateAuthority)).toMatchObject(refused)
  })

  it('has expired is refused', async () => {
    const shown = await makeCertificate({
      validFrom: new Date(Date.now() - 2 * day),
      validUntil: new Date(Date.now() - day),
    })
    expect(await sendTo(shown, shown.certificateAuthority)).toMatchObject(refused)
  })

  it('is not valid yet is refused', async () => {
    const shown = await makeCertificate({ validFrom: new Date(Date.now() + day) })
    expect(await sendTo(shown, shown.certificateAuthority)).toMatchObject(refused)
  })

  it.each(['127.0.0.1', 'localhost'])('is for another name than %s is refused', async (host) => {
    const shown = await makeCertificate({ hosts: ['hooks.example.com', '127.0.0.2'] })
    expect(await sendTo(shown, shown.certificateAuthority, host)).toMatchObject(refused)
  })

  it('is wrong is refused even where the environment disables the check', async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const shown = await makeCertificate()
      expect(await sendTo(shown, certificate.certificateAuthority)).toMatchObject(refused)
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    }
  })
})

it('hostile receivers leave the memory of the process flat and no socket open', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const hostile = [
    'sends 1 MB of headers',
    'sends thousands of interim responses',
    'closes in its body',
    ...Array<string>(8).fill('sends an endless body after a 404'),
  ].map((title) => cases.find((one) => one.title === title) as Case)
  const receivers = await Promise.all(hostile.map(({ misbehave }) => listen(tlsServer(misbehave))))

  const round = async (times: number) => {
    for (let i = 0; i < times; i++) await Promise.all(receivers.map(({ url }) => send(patient, url)))
    await waitFor('all connections close', () => receivers.every(({ open }) => open.size === 0))
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = await round(10)
  const after = await round(50)
  // 400 of these exchanges read 64 KiB each: what kept it all would have grown by 26 MB.
  expect(after - before).toBeLessThan(13_000_000)
})
