import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { useDatabase } from '../support/database.js'
import { runCli } from '../support/run-cli.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'

const database = useDatabase()
const server = useSagapost(database)
const client = () => createClient({ baseUrl: server.url, apiKey: adminKey })
const env = () => ({ SAGAPOST_URL: server.url, SAGAPOST_API_KEY: adminKey, DATABASE_URL: database.url })

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-verbs-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What it prints when all goes well: nothing but that, and exit code 0. */
async function output(args: string[], input?: string | Buffer): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, env(), input)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}
const outputJson = async (args: string[], input?: string | Buffer) =>
  JSON.parse(await output([...args, '--json'], input))

/** One line with the code, exit code 1, nothing on stdout; the same as JSON. */
async function refusal(args: string[], more: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, { ...env(), ...more })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^sagapost: .+ \[[a-z0-9_]+\]\n$/)
  return stderr
}

async function usageError(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, env())
  expect([code, stdout]).toEqual([2, ''])
  return stderr
}

describe('publish', () => {
  it('[E1] takes the payload as argument, file or standard input, and keeps its bytes', async () => {
    const payload = '{ "b": 1.50, "a":"ü", "big": 12345678901234567890 }'
    const file = join(folder, 'payload.json')
    writeFileSync(file, payload)
    const ids = [
      (await outputJson(['publish', 'cli.bytes', payload])).id,
      (await outputJson(['publish', 'cli.bytes', '--file', file])).id,
      (await outputJson(['publish', 'cli.bytes', '-'], `\n${payload}\n`)).id,
    ]
    for (const id of ids) {
      expect((await client().events.get(id)).payloadJson).toBe(payload)
      expect(await output(['events', 'show', id])).toContain(`\n${payload}\n`)
      expect(await output(['events', 'show', id, '--json'])).toContain(`"payload":${payload}}\n`)
    }
  })

  it('[E3] prints the id, and whether it was a duplicate', async () => {
    const args = ['publish', 'cli.once', '{"n":1}', '--key', 'cli-once', '--correlation-id', 'c-9']
    const [, id] = /^Published event (\d+)\n$/.exec(await output(args)) ?? []
    expect(await output(args)).toBe(
      `Event ${id} was already published with this key; nothing new was stored\n`,
    )
    expect(await outputJson(args)).toMatchObject({ id, type: 'cli.once', duplicate: true })
    const byKey = async (key: string) => (await outputJson(['events', 'list', '--key', key])).data
    expect(await byKey('cli-once')).toMatchObject([{ id }])
    expect(await byKey('cli-never')).toEqual([])
    expect(await refusal(['publish', 'cli.once', '{"n":2}', '--key', 'cli-once'])).toContain(
      '[idempotency_conflict]',
    )
    expect((await client().events.get(id ?? '')).correlationId).toBe('c-9')
  })

  it('refuses an invalid payload before sending anything', async () => {
    expect(await refusal(['publish', 'cli.bad', '{"a":}'])).toContain('[payload_invalid]')
    expect(await refusal(['publish', 'cli.bad', '--file', join(folder, 'none')])).toContain(
      '[payload_invalid]',
    )
    const latin = await runCli(['publish', 'cli.bad', '-'], env(), Buffer.from('"\xfc"', 'latin1'))
    expect([latin.code, latin.stderr]).toEqual([1, 'sagapost: The payload is not UTF-8 [payload_invalid]\n'])
    expect(await usageError('publish', 'cli.bad')).toContain('give the payload')
    expect(await usageError('publish', 'cli.bad', '1', '--file', 'x')).toContain('give the payload')
    expect(await refusal(['publish', 'not a type', '1'])).toContain('[event_type_invalid]')
    expect((await client().events.list({ type: 'cli.bad' })).data).toEqual([])
  })
})

describe('lists', () => {
  it('are tables with aligned columns, or pages as JSON, with --limit, --cursor and --all', async () => {
    await client().events.publishBatch(
      Array.from({ length: 205 }, (_, payload) => ({ type: 'cli.list', payload })),
    )
    const list = ['events', 'list', '--type', 'cli.list']
    const { code, stdout, stderr } = await runCli([...list, '--limit', '2'], env())
    const [titles = '', ...rows] = stdout.trimEnd().split('\n')
    expect(titles).toMatch(/^ID +TYPE +CREATED +CORRELATION$/)
    expect(rows).toHaveLength(2)
    for (const row of rows) {
      expect(row).toMatch(/^\d+ +cli\.list +(now|\d+s ago) +-$/)
      expect(row.indexOf('cli.list')).toBe(titles.indexOf('TYPE'))
    }
    const [, cursor = ''] = /--cursor (\S+)/.exec(stderr) ?? []
    expect([code, cursor]).toEqual([0, expect.stringMatching(/.+/)])

    const first = await outputJson([...list, '--limit', '2'])
    expect(first).toEqual({ data: expect.any(Array), nextCursor: cursor })
    const second = await outputJson([...list, '--limit', '2', '--cursor', cursor])
    const all = await outputJson([...list, '--all'])
    expect(all.nextCursor).toBeNull()
    expect(all.data).toHaveLength(205)
    expect(all.data.slice(0, 4)).toEqual([...first.data, ...second.data])
    expect((await output([...list, '--all'])).trimEnd().split('\n')).toHaveLength(206)
  })

  it('that are empty are reported as empty', async () => {
    expect(await output(['events', 'list', '--type', 'cli.none', '--from', '1h', '--all'])).toBe(
      'No events\n',
    )
    expect(await outputJson(['events', 'list', '--type', 'cli.none', '--all'])).toEqual({
      data: [],
      nextCursor: null,
    })
    expect(await output(['dead-letters', 'list', '--to', '2020-01-01T00:00:00Z'])).toBe('No dead letters\n')
  })

  it('say where to continue when a page found nothing and there may be more', async () => {
    const page = Array.from({ length: 1_000 }, (_, payload) => ({ type: 'cli.unheard', payload }))
    await client().events.publishBatch(page)
    const list = ['deliveries', 'list', '--type', 'cli.unheard']
    const { code, stdout, stderr } = await runCli(list, env())
    expect([code, stdout]).toEqual([0, ''])
    const [, cursor = ''] =
      /^No results so far; there may be more: --all, or --cursor (\S+)$/m.exec(stderr) ?? []
    expect(await output([...list, '--cursor', cursor])).toBe('No deliveries\n')
    expect(await output([...list, '--all'])).toBe('No deliveries\n')
  })

  it('refuse invalid options, with exit code 2', async () => {
    for (const args of [
      ['events', 'show', 'evt_..'],
      ['events', 'list', '--limit', '0'],
      ['events', 'list', '--limit', '201'],
      ['events', 'list', '--limit', '5', '--all'],
      ['events', 'list', '--from', 'yesterday'],
      ['deliveries', 'list', '--status', 'Done'],
      ['deliveries', 'list', '--event', 'x'],
      ['deliveries', 'show', '..'],
      ['subscriptions', 'list', '--active', '--inactive'],
      ['subscriptions', 'update', '1'],
      ['subscriptions', 'create', 'a', 'https://x.example', '--header', 'nonsense'],
      ['keys', 'create', '--scope', 'root', '--name', 'x'],
      ['keys', 'create', '--scope', 'read'],
      ['events'],
      ['completion', 'cmd'],
    ]) {
      expect(await usageError(...args), args.join(' ')).toMatch(/^(error: |Usage: )/)
    }
  })
})

describe('subscriptions', () => {
  it('[U1, U6] are created, shown, verified, tested, paused, resumed, changed, rotated and deleted', async () => {
    const callbackUrl = `${server.receiver.url}hooks`
    const create = ['subscriptions', 'create', 'cli.sub', callbackUrl, '--header', 'x-tenant: north: 1']
    const shown = await output([...create, '--max-attempts', '3', '--key', 'cli-sub'])
    expect(shown).toMatch(/^Secret +whsec_\S+ +\(shown only once\)$/m)
    expect(shown).toMatch(/^State +unverified$/m)
    expect(shown).toMatch(/^Header +x-tenant: north: 1$/m)
    const [, id = ''] = /^Next: sagapost subscriptions verify (\d+)$/m.exec(shown) ?? []
    const again = await outputJson([...create, '--max-attempts', '3', '--key', 'cli-sub'])
    expect(again).toMatchObject({ id, maxAttempts: 3, headers: { 'x-tenant': 'north: 1' } })

    expect(await refusal(['subscriptions', 'resume', id])).toContain('[subscription_not_verified]')
    expect(await output(['subscriptions', 'verify', id])).toBe(`Subscription ${id} is verified and active\n`)
    expect(await output(['subscriptions', 'test', id])).toMatch(/^Delivered +yes\nHTTP +200$/m)
    expect(await output(['subscriptions', 'pause', id])).toMatch(/^State +paused$/m)
    expect(await outputJson(['subscriptions', 'resume', id])).toMatchObject({ active: true })
    const change = ['subscriptions', 'update', id, '--max-attempts', 'default', '--no-headers']
    expect(await outputJson(change)).toMatchObject({ maxAttempts: null, headers: {}, active: true })
    const rotated = await outputJson(['subscriptions', 'rotate-secret', id, '--overlap', '1h'])
    expect(rotated).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      previousExpiresAt: expect.any(String),
    })
    expect(await output(['subscriptions', 'list', '--type', 'cli.sub'])).toMatch(
      new RegExp(`^${id} +cli\\.sub +active +ok +\\S+( ago)? +${callbackUrl}$`, 'm'),
    )

    expect(await output(['subscriptions', 'delete', id])).toBe(`Deleted subscription ${id}\n`)
    expect(await outputJson(['subscriptions', 'delete', id])).toEqual({ id, deleted: true })
    expect(await output(['subscriptions', 'show', id])).toMatch(/^State +deleted$/m)
    expect(await output(['subscriptions', 'list', '--type', 'cli.sub'])).toBe('No subscriptions\n')
    const deleted = await outputJson(['subscriptions', 'list', '--type', 'cli.sub', '--deleted'])
    expect(deleted.data).toHaveLength(1)
  })

  it('[U1, O6] are listed and shown as paused when their endpoint is paused', async () => {
    const callbackUrl = 'https://127.0.0.1:1/hooks'
    const { id } = await client().subscriptions.create({ eventType: 'cli.paused', callbackUrl })
    await database.pool.query(
      `INSERT INTO sagapost.subscription_breakers (subscription_id, failures, last_error_code, opened_at, paused_until, probe_at)
       VALUES ($1, 12, 'http_503', sagapost.now(), sagapost.now() + interval '1 day', sagapost.now())`,
      [id],
    )
    expect(await output(['subscriptions', 'list', '--failing'])).toMatch(
      new RegExp(`^${id} +cli\\.paused +unverified +paused +\\S+( ago)? +${callbackUrl}$`, 'm'),
    )
    expect((await outputJson(['subscriptions', 'list', '--failing'])).data).toHaveLength(1)
    const shown = await output(['subscriptions', 'show', id])
    expect(shown).toMatch(
      /^Endpoint +paused\nFailures +12 consecutive, last error http_503\nFailing since +\S/m,
    )
    expect(shown).toMatch(/^Paused until +\S+Z \(in \S+\)\nNext probe +\S/m)
  })

  it('[U4] whose callback is unreachable: verify gives the reason, test exits with 1 and the response', async () => {
    const { id } = await client().subscriptions.create({
      eventType: 'cli.away',
      callbackUrl: 'https://127.0.0.1:1/hooks',
    })
    expect(await refusal(['subscriptions', 'verify', id])).toContain('[verification_failed]')
    const test = await runCli(['subscriptions', 'test', id, '--json'], env())
    expect([test.code, JSON.parse(test.stdout)]).toEqual([
      1,
      expect.objectContaining({ delivered: false, errorCode: 'connection_refused' }),
    ])
  })
})

describe('deliveries and dead letters', () => {
  it('[O6, D4] are listed, shown with attempts, and requeued; control characters in foreign text are escaped', async () => {
    const { id } = await client().subscriptions.create({
      eventType: 'cli.dead',
      callbackUrl: `${server.receiver.url}hooks`,
      maxAttempts: 1,
    })
    await client().subscriptions.verify(id)
    server.answer = () => ({ status: 500, body: '\u001b[31mred\u202e' })
    const payload = '{"n": 1.0}'
    const { id: eventId } = await outputJson(['publish', 'cli.dead', payload])
    const list = ['deliveries', 'list', '--event', eventId]
    await expect
      .poll(async () => (await outputJson([...list, '--status', 'DeadLettered'])).data.length)
      .toBe(1)
    expect(await output(list)).toMatch(/^\d+ +\d+ +\d+ +DeadLettered +1 +- +\S+( ago)? +http_500$/m)
    const [delivery] = (await outputJson([...list, '--subscription', id])).data
    const found = async (...filter: string[]) =>
      (await outputJson(['deliveries', 'list', ...filter])).data.map(({ id }: { id: string }) => id)
    expect(await found('--error', 'http_500', '--subscription', id)).toEqual([delivery.id])
    expect(await found('--error', 'timeout', '--subscription', id)).toEqual([])
    expect(await found('--type', 'cli.dead')).toEqual([delivery.id])
    const shown = await output(['deliveries', 'show', delivery.id])
    expect(shown).toMatch(
      /^1 +\S+( ago)? +Failed +500 +http_500 +\d+ ms +\S+ +\\u\{1b\}\[31mred\\u\{202e\}$/m,
    )
    expect((await outputJson(['deliveries', 'show', delivery.id])).attempts).toHaveLength(1)
    expect(await output(['events', 'show', eventId])).toMatch(/^Deliveries\nID .*\n\d+ .*DeadLettered/m)
    const { webhookId } = await client().events.get(eventId)
    expect(await outputJson(['events', 'show', webhookId])).toMatchObject({ id: eventId, webhookId })
    for (const args of [
      ['events', 'show', eventId],
      ['deliveries', 'show', delivery.id],
    ]) {
      expect(await output(args)).toMatch(new RegExp(`^Webhook id +${webhookId}$`, 'm'))
    }
    expect(await refusal(['events', 'show', `${webhookId}0`])).toContain('[event_not_found]')

    const dead = ['dead-letters', 'list', '--subscription', id, '--error', 'http_500', '--type', 'cli.dead']
    const [letter] = (await outputJson([...dead, '--from', '1h'])).data
    expect(await output(dead)).toMatch(
      new RegExp(`^${letter.id} +${eventId} +cli\\.dead +${id} +http_500`, 'm'),
    )
    expect(await output(['dead-letters', 'show', letter.id])).toContain(`\nPayload\n${payload}\n`)
    expect(letter.webhookId).toBe(webhookId)
    expect(await output(['dead-letters', 'show', letter.id, '--json'])).toContain(
      `"payloadSnapshot":${payload}}\n`,
    )
    server.answer = () => ({ status: 200 })
    const line = await output(['dead-letters', 'requeue', letter.id])
    const [, deliveryId] = /as delivery (\d+)\n$/.exec(line) ?? []
    expect(await outputJson(['dead-letters', 'requeue', letter.id])).toEqual({ deliveryId })
    await expect.poll(async () => (await client().deliveries.get(deliveryId ?? '')).status).toBe('Completed')
  })
})

describe('keys', () => {
  it('[O2] are created, used within their scope, listed without the key, and revoked', async () => {
    const { id, key } = await outputJson(['keys', 'create', '--scope', 'ingest', '--name', 'checkout'])
    expect(key).toMatch(/^spk_/)
    const withKey = { SAGAPOST_API_KEY: key }
    expect((await runCli(['publish', 'cli.key', '1'], { ...env(), ...withKey })).code).toBe(0)
    expect(await refusal(['events', 'list'], withKey)).toContain('[forbidden]')
    expect(await output(['keys', 'list'])).toMatch(new RegExp(`^${id} +checkout +ingest +`, 'm'))
    expect(JSON.stringify(await outputJson(['keys', 'list']))).not.toContain(key)
    expect(await output(['keys', 'create', '--scope', 'read', '--name', 'eyes'])).toMatch(/^Key +spk_\S+/m)

    expect(await output(['keys', 'revoke', id])).toMatch(new RegExp(`^Revoked key ${id} \\(checkout\\)`))
    expect((await outputJson(['keys', 'revoke', id])).revokedAt).toEqual(expect.any(String))
    await expect
      .poll(async () => (await runCli(['publish', 'cli.key', '1'], { ...env(), ...withKey })).stderr)
      .toContain('[unauthenticated]')
    expect(await refusal(['keys', 'revoke', '999'])).toContain('[api_key_not_found]')
    expect(await refusal(['keys', 'create', '--scope', 'read', '--name', ' '])).toContain('[api_key_invalid]')
  })
})

describe('failures', () => {
  it('name the code, and as JSON the status and the fields', async () => {
    expect(await refusal(['events', 'show', '999999'])).toBe(
      'sagapost: there is no event 999999 [event_not_found]\n',
    )
    const { stderr } = await runCli(['subscriptions', 'create', 'a', 'http://x.example', '--json'], env())
    expect(JSON.parse(stderr)).toEqual({
      error: expect.objectContaining({ code: 'callback_url_not_https', status: 422 }),
    })
    expect(await refusal(['events', 'list'], { SAGAPOST_API_KEY: 'w'.repeat(32) })).toMatch(
      /keys create.*\[unauthenticated\]/,
    )
  })

  it('of the connection say what to do', async () => {
    const away = await refusal(['events', 'list'], { SAGAPOST_URL: 'http://127.0.0.1:1' })
    expect(away).toMatch(/127\.0\.0\.1:1 cannot be reached.*npm start.*\[server_unreachable\]/)
    for (const SAGAPOST_URL of ['nonsense', 'ftp://127.0.0.1']) {
      expect(await refusal(['events', 'list'], { SAGAPOST_URL })).toMatch(/SAGAPOST_URL.*\[config_invalid\]/)
    }
    const keyless = { SAGAPOST_API_KEY: '', SAGAPOST_DATA_DIR: join(folder, 'nothing') }
    expect(await refusal(['events', 'list'], keyless)).toMatch(/SAGAPOST_API_KEY.*\[config_invalid\]/)
    const elsewhere = { ...keyless, SAGAPOST_URL: 'https://sagapost.example' }
    expect(await refusal(['events', 'list'], elsewhere)).toMatch(/SAGAPOST_API_KEY.*\[config_invalid\]/)
    const mute = createServer((socket) => socket.once('data', () => socket.destroy()))
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const { port } = mute.address() as { port: number }
    const hangsUp = await refusal(['events', 'list'], { SAGAPOST_URL: `http://127.0.0.1:${port}` })
    expect(hangsUp).toContain('[server_unreachable]')
    mute.close()
  })
})
