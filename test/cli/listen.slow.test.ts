import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createSecretBox, createSubscription, verifySubscription } from '../../src/subscriptions/index.js'
import {
  createWebhookSender,
  formatSecret,
  generateSecret,
  publicKeyOf,
  type WebhookRequest,
} from '../../src/webhook/index.js'
import { useDatabase } from '../support/database.js'
import { type CliProcess, runCli, spawnCli } from '../support/spawn-cli.js'

const database = useDatabase()
const allowedCidrs = ['127.0.0.0/8']
const signing = generateSecret()
const secret = formatSecret(signing)

let folder: string
let dataDir: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-listen-'))
  dataDir = join(folder, 'data')
})
afterAll(() => rmSync(folder, { recursive: true }))

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** The process, and a sender that trusts the authority that it printed and nothing else of its own. */
async function listen(args: string[] = [], { requestTimeoutMs = 20_000 } = {}) {
  const cli = spawnCli(['listen', '--port', '0', ...args], { SAGAPOST_DATA_DIR: dataDir })
  cleanups.push(async () => {
    cli.child.kill('SIGTERM')
    await cli.exit
  })
  const [, url = '', authorityFile = ''] = args.includes('--json')
    ? await cli.printed(/"url":"(\S+?)","certificateAuthority":"(\S+?)"\}\n/)
    : await cli.printed(/Listening at (\S+).*NODE_EXTRA_CA_CERTS=(\S+).*\n/s)
  const sender = createWebhookSender({
    requestTimeoutMs,
    allowedCidrs,
    extraCertificateAuthorities: [readFileSync(authorityFile, 'utf8')],
  })
  cleanups.push(sender.close)
  const send = (request: Partial<WebhookRequest> = {}) =>
    sender.send({
      url,
      webhookId: 'evt_42',
      body: Buffer.from('{"order": 7}'),
      secrets: [signing],
      headers: { 'sagapost-event-type': 'order.placed', 'sagapost-attempt': '2' },
      ...request,
    })
  return { cli, url, sender, send, statuses: statusesOf(send) }
}

const statusesOf =
  (send: (request: Partial<WebhookRequest>) => Promise<{ responseStatus?: number }>) =>
  async (...ids: string[]) => {
    const statuses: (number | undefined)[] = []
    for (const webhookId of ids) statuses.push((await send({ webhookId })).responseStatus)
    return statuses
  }

const jsonLines = (cli: CliProcess) =>
  cli
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('sagapost listen', () => {
  it('[J6] receives a delivery over HTTPS, verifies it, answers 200 and prints one line; a signal stops it', async () => {
    const { cli, send } = await listen(['--secret', formatSecret(generateSecret()), '--secret', secret])
    expect(await send()).toMatchObject({ delivered: true, responseStatus: 200 })
    const [line] = await cli.printed(/^.*order\.placed.*\n/m)
    expect(line).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} {2}order\.placed {2}evt_42 {2}attempt 2 {2}✓ verified {2}200 {2}\{"order": 7\}\n$/,
    )
    cli.child.kill('SIGINT')
    expect(await cli.exit).toBe(0)
    expect(cli.stderr()).toBe('')
  })

  it('[U4] passes the verification of a subscription, with and without its secret', async () => {
    const admin = database.as('subscription_admin')
    const box = createSecretBox(Buffer.alloc(32, 7))
    const { url, sender, cli } = await listen()
    const { subscription, secret: shown } = await createSubscription(
      admin,
      { eventType: 'order.placed', callbackUrl: url, scheme: 'v1a' },
      { box, allowedCidrs },
    )
    expect(await verifySubscription(admin, subscription.id, { box, sender })).toMatchObject({
      verified: true,
    })
    await cli.printed(/sagapost\.subscription\.verification {2}ver_\w+ {2}not verified {2}200 {2}\{/)

    const other = await listen(['--secret', shown, '--status', '500', '--delay', '1h'])
    await admin.query('UPDATE sagapost.subscriptions SET callback_url = $2 WHERE id = $1', [
      subscription.id,
      other.url,
    ])
    const outcome = await verifySubscription(admin, subscription.id, { box, sender: other.sender })
    expect(outcome).toMatchObject({ verified: true })
    await other.cli.printed(/sagapost\.subscription\.verification {2}ver_\w+ {2}✓ verified {2}200 {2}\{/)
  })

  it('without a secret answers and reports that nothing was verified', async () => {
    const { cli, send } = await listen()
    expect(await send({ secrets: [generateSecret()] })).toMatchObject({ responseStatus: 200 })
    await cli.printed(/evt_42 {2}attempt 2 {2}not verified {2}200/)
  })

  it('with a secret refuses what was signed with another, challenges included', async () => {
    const { cli, send } = await listen(['--secret', publicKeyOf(generateSecret('v1a'))])
    expect(await send()).toMatchObject({ responseStatus: 401 })
    await cli.printed(/evt_42 {2}attempt 2 {2}✗ no_matching_signature {2}401/)
    const body = Buffer.from('{"type":"sagapost.subscription.verification","challenge":"Jx2"}')
    const outcome = await send({ headers: {}, body })
    expect(outcome).toMatchObject({ responseStatus: 401 })
    expect(outcome.responseExcerpt).not.toContain('Jx2')
  })

  it('--json prints JSON lines', async () => {
    const { cli, send } = await listen(['--json', '--secret', secret])
    await send({ webhookId: 'evt_1', body: Buffer.from('{ "text": "two\\nlines" }') })
    await send({ webhookId: 'evt_2', body: Buffer.from('not JSON'), headers: {} })
    await cli.printed(/evt_2.*\n/)
    expect(jsonLines(cli)).toEqual([
      { kind: 'listening', url: expect.stringMatching(/^https:/), certificateAuthority: expect.any(String) },
      {
        kind: 'event',
        at: expect.stringMatching(/Z$/),
        path: '/',
        id: 'evt_1',
        type: 'order.placed',
        attempt: 2,
        correlationId: null,
        verified: true,
        refusal: null,
        status: 200,
        payload: { text: 'two\nlines' },
      },
      expect.objectContaining({
        id: 'evt_2',
        type: null,
        attempt: null,
        verified: false,
        refusal: 'bad_payload',
        status: 401,
        body: 'not JSON',
      }),
    ])
  })

  it('--status answers every delivery with that status', async () => {
    const { statuses, cli } = await listen(['--status', '410'])
    expect(await statuses('evt_1', 'evt_1', 'evt_2')).toEqual([410, 410, 410])
    await cli.printed(/evt_2 {2}attempt 2 {2}not verified {2}410/)
  })

  it('--fail-first fails the first requests of each webhook-id, then answers 200', async () => {
    const { statuses } = await listen(['--fail-first', '2'])
    expect(await statuses('evt_1', 'evt_2', 'evt_1', 'evt_1', 'evt_2', 'evt_2', 'evt_1')).toEqual([
      500, 500, 500, 200, 500, 200, 200,
    ])
  })

  it('--fail-first with --status fails with that status, and counts only verified requests', async () => {
    const { statuses, send } = await listen(['--fail-first', '1', '--status', '503', '--secret', secret])
    expect((await send({ webhookId: 'evt_1', secrets: [generateSecret()] })).responseStatus).toBe(401)
    expect(await statuses('evt_1', 'evt_1')).toEqual([503, 200])
  })

  it('--delay holds the answer back; a sender that gives up is reported, and the listener still stops', async () => {
    const { cli, send } = await listen(['--delay', '1h'], { requestTimeoutMs: 500 })
    const told = cli.printed(
      /evt_42 {2}attempt 2 {2}not verified {2}no response: the sender disconnected {2}\{/,
    )
    // On a busy machine the sender may give up before its request is there: then nobody can tell of it.
    let isTold = false
    void told.then(() => {
      isTold = true
    })
    await expect
      .poll(async () => {
        expect(await send()).toMatchObject({ delivered: false, errorCode: 'timeout' })
        return isTold
      })
      .toBe(true)
    const { cli: held, send: sendHeld } = await listen(['--delay', '1h'])
    const waiting = sendHeld()
    const { send: sendBriefly } = await listen(['--delay', '1ms'])
    expect(await sendBriefly()).toMatchObject({ responseStatus: 200 })
    held.child.kill('SIGTERM')
    expect(await held.exit).toBe(0)
    expect((await waiting).delivered).toBe(false)
  })

  it('prints long and hostile payloads as one bounded line', async () => {
    const { cli, send } = await listen()
    const text = `{"a": "\u001b[2J\u202e",\r\n\t"b": "${'x'.repeat(5_000)}"}`
    await send({ body: Buffer.from(text), headers: { 'sagapost-event-type': 'order.placed' } })
    const [line] = await cli.printed(/^.*order\.placed.*\n/m)
    expect(line).toContain('{"a": "\\u{1b}[2J\\u{202e}", "b": "xxx')
    expect(line).toMatch(/x… \(\d+ characters\)\n$/)
    expect(line.length).toBeLessThan(500)
  })

  it('answers 405 to other methods', async () => {
    const { url } = await listen()
    const ca = readFileSync(join(dataDir, 'listen-ca.pem'))
    const [response] = await once(get(url, { ca, agent: false }), 'response')
    expect([response.statusCode, response.headers.allow]).toEqual([405, 'POST'])
  })

  it('reports when a sender does not trust its certificate', async () => {
    const { url, cli } = await listen()
    await expect(fetch(url)).rejects.toThrow()
    await expect.poll(() => cli.stderr()).toMatch(/^A sender failed to connect: .*listen-ca\.pem\?\)\n/)
  })

  it('exits when its output is closed', async () => {
    const { cli, send } = await listen()
    cli.child.stdout?.destroy()
    await send()
    await send()
    expect(await cli.exit).toBe(0)
  })
})

describe('the certificate', () => {
  it('is created once, with a private key that only its owner can read, and used again at the next start', async () => {
    const files = ['listen-ca.pem', 'listen-cert.pem', 'listen-key.pem'].map((name) => join(dataDir, name))
    await listen()
    const before = files.map((file) => readFileSync(file, 'utf8'))
    expect(statSync(join(dataDir, 'listen-key.pem')).mode & 0o777).toBe(0o600)
    await listen()
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before)
  })
})

describe('options that cannot be used', () => {
  it.each([
    ['--host=does-not-exist.invalid', /^sagapost: --host does-not-exist.invalid is not/],
    ['--host=192.0.2.1', /^sagapost: --host 192.0.2.1 is not/],
    ['--status=600', /^sagapost: --status must be/],
    ['--secret=nonsense-word', /^sagapost: --secret cannot be used: .*whsec_/],
    [`--secret=${secret.slice(0, -3)}`, /^sagapost: --secret cannot be used: .*base64/],
  ])('[O2] %# are reported in one line, without the secret', async (option, line) => {
    const { code, stdout, stderr } = await runCli(['listen', '--port', '0', option], {
      SAGAPOST_DATA_DIR: join(folder, 'bad'),
    })
    expect(stderr).toMatch(line)
    expect(stderr).toMatch(/^.+ \[config_invalid\]\n$/)
    if (option.startsWith('--secret')) expect(stderr).not.toContain(option.slice(16))
    expect([code, stdout]).toEqual([1, ''])
  })

  it('[O2] --fail-first with a status that does not fail', async () => {
    const { code, stderr } = await runCli(['listen', '--fail-first', '2', '--status', '204'])
    expect([code, stderr]).toEqual([
      1,
      'sagapost: --fail-first needs a --status that fails, not 204 [config_invalid]\n',
    ])
  })

  it('[O2] a port that is taken, and a data directory that holds something else', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    cleanups.push(() => new Promise((resolve) => taken.close(resolve)))
    const { port } = taken.address() as { port: number }
    const used = await runCli(['listen', '--port', String(port)], { SAGAPOST_DATA_DIR: dataDir })
    expect([used.code, used.stderr]).toEqual([
      1,
      `sagapost: --port ${port} on 127.0.0.1 is in use by another program [config_invalid]\n`,
    ])
    const photos = join(folder, 'photos')
    mkdirSync(photos)
    writeFileSync(join(photos, 'cat.jpg'), 'miaow')
    const foreign = await runCli(['listen', '--port', '0'], { SAGAPOST_DATA_DIR: photos })
    expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('[data_dir_not_ours]')])
  })
})
