import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { masterKey, subscribe, useInstances } from './use-instances.js'

const database = useDatabase()
const { embed, receive } = useInstances()

const events = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'exit',
  'beforeExit',
  'uncaughtException',
  'unhandledRejection',
]
const listeners = () => events.map((event) => process.listenerCount(event))

it('[O2] installs no listener for signals or the end of the process', async () => {
  const before = listeners()
  const instance = embed({
    databaseUrl: database.url,
    parts: ['api', 'router', 'worker'],
    apiKey: 'the-administrators-key-of-the-environment',
    port: 0,
  })
  await instance.start()
  expect(listeners()).toEqual(before)
})

/** The built package in a process of its own, with an error on its way: the worker cannot listen, an event is bad. */
const program = `
  import { Sagapost } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
  const instance = new Sagapost({
    databaseUrl: process.env.DATABASE_URL, masterKey: process.env.MASTER_KEY,
    listenUrl: 'postgres://user@127.0.0.1:1/nowhere',
    parts: ['api', 'router', 'orchestrator', 'worker', 'cleaner'], apiKey: 'the-administrators-key-of-the-environment', port: 0,
    ...(process.env.LOG && { log: Object.fromEntries(['error', 'warn', 'info', 'debug'].map((level) =>
      [level, (fields, message) => console.log(level, message)])) }),
  })
  await instance.start()
  await fetch(instance.url + '/v1/events', { method: 'POST', headers: { authorization: 'Bearer the-administrators-key-of-the-environment' } })
  await instance.events.publishMany([{ type: 'guest.hello', payload: 1 }])
  const delivered = async () => (await instance.events.list({ type: 'guest.hello' })).data.length
  while (await delivered() === 0) {}
  await instance.stop()
  process.exitCode = 7
`

async function run(env: Record<string, string>) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url, MASTER_KEY: masterKey, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  return { code, output }
}

it('[O2] prints nothing, and leaves nothing that keeps the process alive', async () => {
  expect(await run({})).toEqual({ code: 7, output: '' })
  const { output } = await run({ LOG: '1' })
  expect(output).toContain('info listening')
  expect(output).toContain('warn not listening for wake-ups')
})

it('[O5] a log gets its lines with nothing confidential, and one that throws does no harm', async () => {
  const lines: [Record<string, unknown>, string][] = []
  const write = (fields: Record<string, unknown>, message: string) => {
    lines.push([fields, message])
    throw new Error('the log is full')
  }
  const receiver = await receive()
  const log = { error: write, warn: write, info: write, debug: write }
  const instance = embed({ databaseUrl: database.url, log }, receiver)
  await instance.start()
  await subscribe(instance, receiver, 'guest.logged')
  await instance.publish(database.pool, { type: 'guest.logged', payload: 1, correlationId: 'c-1' })
  await expect.poll(() => lines.map(([, message]) => message)).toContain('delivered')
  const [fields] = lines.find(([, message]) => message === 'delivered') ?? []
  expect(fields).toMatchObject({ correlation_id: 'c-1', job_id: expect.any(String) })
  await expect.poll(() => receiver.requests.length).toBe(1)
})
