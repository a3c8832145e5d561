import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { type Link, openLink } from '../../faults/system/open-link.js'

/** ReadyForQuery, idle. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
const NAME = 'sagapost_0123456789abcdef'

let server: Server
let link: Link
/** What the server got, of all connections. */
let got = ''
let clients: Socket[] = []

beforeEach(async () => {
  got = ''
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1')
      socket.write(Buffer.concat([Buffer.from('answer'), READY]))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  link = await openLink(() => (server.address() as AddressInfo).port, ['UPDATE jobs'])
})

afterEach(async () => {
  for (const client of clients) client.destroy()
  clients = []
  await link.close()
  server.close()
})

async function open() {
  const client = connect(link.port, '127.0.0.1')
  clients.push(client)
  const heard = { text: '', ended: '' }
  client.on('data', (chunk) => {
    heard.text += chunk.toString('latin1')
  })
  client.on('error', (error: NodeJS.ErrnoException) => {
    heard.ended = error.code ?? 'error'
  })
  client.on('close', () => {
    heard.ended ||= 'closed'
  })
  await once(client, 'connect')
  return { client, heard }
}

it('[O6] forwards both ways, slowly too', async () => {
  const { client, heard } = await open()
  for (const behaviour of [{ kind: 'pass' }, { kind: 'delay', delayMs: 5 }, { kind: 'drip' }] as const) {
    link.behave(behaviour)
    got = ''
    heard.text = ''
    client.write('x'.repeat(5_000))
    await expect.poll(() => got.length).toBe(5_000)
    await expect.poll(() => heard.text).toContain('answer')
  }
})

it('[O6] cuts with a reset', async () => {
  const { client, heard } = await open()
  client.write('one')
  await expect.poll(() => heard.text).toContain('answer')
  link.cut()
  await expect.poll(() => heard.ended).toBe('ECONNRESET')
  expect(link.connections()).toBe(0)
})

it('[O6] a black hole swallows requests, a half-open one answers only, and both end with a reset', async () => {
  for (const half of [false, true]) {
    const { client, heard } = await open()
    const other = await open()
    got = ''
    link.behave({ kind: 'black-hole', half })
    client.write('swallowed')
    if (half) await expect.poll(() => got).toBe('swallowed')
    link.behave({ kind: 'pass' })
    await expect.poll(() => heard.ended).toBe('ECONNRESET')
    await expect.poll(() => other.heard.ended).not.toBe('')
    if (!half) expect(got).toBe('')
    expect(heard.text).toBe('')
  }
})

it('[O6] a mark is reached before the statement is sent, or after it was answered, also by its name', async () => {
  let reached = 0
  const watch = (moment: 'before' | 'after', count: number) =>
    link.watch({ text: 'UPDATE jobs', moment, count, onReached: () => reached++ })

  watch('before', 1)
  const first = await open()
  first.client.write(`P\0\0\0\0${NAME}\0UPDATE jobs SET`)
  await expect.poll(() => first.heard.ended).toBe('ECONNRESET')
  expect([reached, got]).toEqual([1, ''])

  watch('after', 2)
  const second = await open()
  second.client.write(`B\0\0\0\0\0${NAME}\0`)
  await expect.poll(() => second.heard.text).toContain('answer')
  second.heard.text = ''
  second.client.write(`B\0\0\0\0\0${NAME}\0`)
  await expect.poll(() => second.heard.ended).toBe('ECONNRESET')
  expect([reached, second.heard.text, got.split(NAME).length]).toEqual([2, '', 3])
})

it('[O6] a process that has reset a socket during its shutdown comes to its end', async () => {
  const endAndReset = `
    import { createServer, connect } from 'node:net'
    import { resetSocket } from './faults/system/reset-socket.ts'
    const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1', () => {
      const socket = connect(server.address().port, '127.0.0.1', () => {
        socket.end()
        resetSocket(socket)
        server.close()
      })
    })`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', endAndReset], {
    stdio: 'inherit',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let exit: unknown
  child.on('exit', (code) => {
    exit = code
  })
  await expect.poll(() => exit).toBe(0)
})
