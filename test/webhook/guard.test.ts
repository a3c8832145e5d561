import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { SagapostError } from '../../src/errors/index.js'
import { createSecureConnector } from '../../src/webhook/connect-securely.js'
import type { ResolvedAddress } from '../../src/webhook/dns/index.js'
import { createAddressGuard } from '../../src/webhook/guard-addresses.js'
import {
  createWebhookSender,
  generateSecret,
  parseAllowedCidrs,
  refuseCallbackUrl,
  type WebhookSender,
} from '../../src/webhook/index.js'
import { trustAuthorities } from '../../src/webhook/trust-authorities.js'
import { createSenderWithLookup } from '../../src/webhook/webhook-sender.js'
import { startReceiver } from '../support/https-receiver.js'

/** Hosts as someone may write them into a callback URL. Each is another spelling of an address that is not public. */
const forbiddenHosts = [
  // loopback
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0x7f.0x0.0x0.0x1',
  '017700000001',
  '0177.0.0.1',
  '0177.1',
  '127.0.0.1.',
  '127。0。0。1',
  '１２７.0.0.1',
  '%31%32%37.0.0.1',
  '①②⑦.0.0.1',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[::7f00:1]',
  // unspecified, "this network"
  '0',
  '0.0.0.0',
  '0x0',
  '0.1.2.3',
  '[::]',
  '[::ffff:0.0.0.0]',
  // private
  '10.0.0.1',
  '10.255.255.255',
  '167772161',
  '012.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.257',
  '0xc0a80001',
  '3232235521',
  '[::ffff:10.0.0.1]',
  '[::ffff:c0a8:1]',
  // link-local and metadata
  '169.254.169.254',
  '169.254.43518',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '[fe80::1]',
  '[febf::1]',
  '[fd00:ec2::254]',
  '168.63.129.16',
  '2822734096',
  '[::ffff:a83f:8110]',
  // carrier-grade NAT
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.255',
  // protocol assignments, documentation, relays, benchmarking
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  // multicast, reserved, broadcast
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '4294967295',
  '[ff02::1]',
  '[ff0e::1]',
  // IPv6 that is local, translated or tunnelled
  '[fc00::1]',
  '[fdff::1]',
  '[fec0::1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::10.0.0.1]',
  '[64:ff9b::8.8.8.8]',
  '[64:ff9b:1::a00:1]',
  '[::ffff:0:127.0.0.1]',
  '[2002:7f00:1::]',
  '[2002:a00:1::1]',
  '[2002:808:808::1]',
  '[2001::1]',
  '[2001:0:7f00:1::]',
  '[2001:2::1]',
  '[2001:10::1]',
  '[2001:20::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[100::1]',
  '[5f00::1]',
  '[4000::1]',
  '[1::1]',
]

const publicHosts = [
  '8.8.8.8',
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '203.0.114.0',
  '223.255.255.255',
  '[2001:4860:4860::8888]',
  '[2001:200::1]',
  '[2606:4700:4700::1111]',
  '[2a00:1450:4001:81b::200e]',
  '[::ffff:8.8.8.8]',
  'example.com',
]

const request = (url: string) => ({
  url,
  webhookId: 'evt_1',
  body: Buffer.from('{}'),
  secrets: [generateSecret()],
  headers: {},
})

function mappedIpv4(address: string): string {
  return ipaddr.process(address).toString()
}

function refusalOf(work: () => unknown): { code: string; message: string } | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    const { code, message } = error as SagapostError
    return { code, message }
  }
}

/** Listens where nothing may arrive, and counts what does. */
async function watch(
  host: string,
): Promise<{ server: Server; port: number; connections: number; bytes: number }> {
  const watched = { server: createServer(), port: 0, connections: 0, bytes: 0 }
  watched.server.on('connection', (socket) => {
    watched.connections += 1
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      watched.bytes += chunk.length
    })
  })
  watched.server.listen(0, host)
  await once(watched.server, 'listening')
  watched.port = (watched.server.address() as AddressInfo).port
  return watched
}

describe('[U3] literal addresses', () => {
  let sender: WebhookSender
  beforeAll(() => {
    sender = createWebhookSender({ requestTimeoutMs: 20_000, allowedCidrs: [] })
  })
  afterAll(() => sender.close())

  it.each(forbiddenHosts)('https://%s/ is refused at registration and again when sending', async (host) => {
    expect(refuseCallbackUrl(`https://${host}/`, [])).toMatchObject({ code: 'callback_url_blocked' })
    expect(await sender.send(request(`https://${host}:9/`))).toMatchObject({
      delivered: false,
      errorCode: 'blocked_address',
    })
  })

  it.each(publicHosts)('https://%s/ may be registered', (host) => {
    expect(refuseCallbackUrl(`https://${host}/`, [])).toBeNull()
  })

  it('of this machine get no connection, in any spelling', async () => {
    const four = await watch('0.0.0.0')
    try {
      for (const host of [
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f.1',
        '0',
        '[::ffff:127.0.0.1]',
        'localhost',
      ]) {
        const outcome = await sender.send(request(`https://${host}:${four.port}/`))
        expect(outcome).toMatchObject({ errorCode: 'blocked_address' })
      }
      expect(four.connections).toBe(0)
    } finally {
      four.server.close()
    }
  })

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'foo.localhost'])('the name %s counts as one', (name) => {
    expect(refuseCallbackUrl(`https://${name}/`, [])).toMatchObject({ code: 'callback_url_blocked' })
    expect(refuseCallbackUrl(`https://${name}/`, ['127.0.0.0/8'])).toBeNull()
  })
})

describe('[U3] a callback URL', () => {
  it.each([
    ['http://example.com/', 'callback_url_not_https'],
    ['HTTP://example.com/', 'callback_url_not_https'],
    ['ftp://example.com/', 'callback_url_not_https'],
    ['javascript:alert(1)', 'callback_url_not_https'],
    ['https:example.com', 'callback_url_not_https'],
    ['https:///example.com', 'callback_url_not_https'],
    ['', 'callback_url_invalid'],
    ['example.com', 'callback_url_invalid'],
    ['https://', 'callback_url_invalid'],
    ['https://user@example.com/', 'callback_url_invalid'],
    ['https://user:password@example.com/', 'callback_url_invalid'],
    ['https://example.com@10.0.0.1/', 'callback_url_invalid'],
    ['https://example.com:0/', 'callback_url_invalid'],
    ['https://example.com:65536/', 'callback_url_invalid'],
    ['https://exa mple.com/', 'callback_url_invalid'],
    ['https://example.com/a b', 'callback_url_invalid'],
    [' https://example.com/', 'callback_url_invalid'],
    ['https://example.com/\n', 'callback_url_invalid'],
    ['ht\ntps://example.com/', 'callback_url_invalid'],
    ['https:\\\\10.0.0.1\\', 'callback_url_invalid'],
    ['https://example.com\\@10.0.0.1/', 'callback_url_invalid'],
    ['https://256.256.256.256/', 'callback_url_invalid'],
    ['https://1.2.3.4.5/', 'callback_url_invalid'],
    ['https://[::1%25eth0]/', 'callback_url_invalid'],
    ['https://[::1/', 'callback_url_invalid'],
    [`https://example.com/${'a'.repeat(500)}`, 'callback_url_invalid'],
  ])('%j is refused: %s', (url, code) => {
    expect(refuseCallbackUrl(url, [])).toEqual({ code, detail: expect.stringMatching(/^[A-Z].+/) })
  })

  it.each([
    'https://example.com',
    'HTTPS://EXAMPLE.COM/Hooks?a=b#c',
    'https://example.com:8443/a/b',
    'https://münchen.example/',
  ])('%s is accepted', (url) => {
    expect(refuseCallbackUrl(url, [])).toBeNull()
  })
})

describe('allowed ranges', () => {
  it('open exactly what they list', () => {
    const guard = createAddressGuard(parseAllowedCidrs('10.1.0.0/16, fd00:1::/32 127.0.0.1'))
    expect(['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::5', '127.0.0.1', '8.8.8.8'].map(guard.permits)).toEqual(
      Array(5).fill(true),
    )
    expect(
      ['10.2.0.1', '127.0.0.2', 'fd00:2::1', '::1', '::127.0.0.1', '::8.8.8.8', 'x', ''].map(guard.permits),
    ).toEqual(Array(8).fill(false))
  })

  it('that list NAT64 still check the IPv4 address inside', () => {
    const guard = createAddressGuard(['64:ff9b::/96'])
    expect(guard.permits('64:ff9b::808:808')).toBe(true)
    expect(guard.permits('64:ff9b::a00:1')).toBe(false)
    expect(guard.permits('64:ff9b::7f00:1')).toBe(false)
    expect(createAddressGuard(['64:ff9b::/96', '10.0.0.0/8']).permits('64:ff9b::a00:1')).toBe(true)
  })

  it('treat a mapped address as the IPv4 address that it maps, for every address', () => {
    const guard = createAddressGuard(['10.0.0.0/8'])
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(guard.permits(`::ffff:${address}`)).toBe(guard.permits(address))
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '169.254.42.42',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fe80::a9fe:a9fe',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    'fd00:a9fe:a9fe::1',
    'fd00:100::100:200',
    '::ffff:169.254.169.254',
    '::ffff:a83f:8110',
  ])('do not open the metadata service at %s: only its own entry does', (address) => {
    expect(createAddressGuard(['0.0.0.0/0', '::/0']).permits(address)).toBe(false)
    const own = address.startsWith('::ffff:') ? mappedIpv4(address) : address
    const narrow = own.includes(':')
      ? `${own.replace(/:[^:]*$/, ':0')}/112`
      : `${own.replace(/\d+$/, '0')}/24`
    expect(createAddressGuard(parseAllowedCidrs(narrow)).permits(address)).toBe(false)
    expect(createAddressGuard(parseAllowedCidrs(own)).permits(address)).toBe(true)
    expect(createAddressGuard(parseAllowedCidrs(`0.0.0.0/0 ::/0 ${own}`)).permits(address)).toBe(true)
  })

  it('do not open them behind an address that leads to one', () => {
    const addresses = [
      '64:ff9b::a9fe:a9fe',
      '64:ff9b::a83f:8110',
      '64:ff9b:1::a9fe:a9fe',
      '64:ff9b:1:a9fe:a9:fe00::',
      '64:ff9b:1:a9:fe:a9fe::',
      '64:ff9b:1:0:a9:fea9:fe00:0',
      '2002:a9fe:a9fe::1',
      '2002:a83f:8110::',
      '2001:0:4136:e378:8000:63bf:5601:5601',
      '::169.254.169.254',
      '::ffff:0:a9fe:a9fe',
    ]
    const everything = ['0.0.0.0/0', '::/0']
    expect(addresses.filter(createAddressGuard(everything).permits)).toEqual([])
    const named = createAddressGuard([...everything, '169.254.169.254/32', '168.63.129.16/32'])
    // How long the prefix of a local NAT64 is, is not known here: each reading must be fine.
    const readOneWay = addresses.filter((address) => !address.startsWith('64:ff9b:1:'))
    expect(readOneWay.filter((address) => !named.permits(address))).toEqual([])
    expect(createAddressGuard(everything).permits('2002:808:808::1')).toBe(true)
    expect(createAddressGuard(['64:ff9b:1::/96']).permits('64:ff9b:1::808:808')).toBe(true)
  })

  it('that open everything open all the rest: this machine and private networks', () => {
    const guard = createAddressGuard(parseAllowedCidrs('0.0.0.0/0,::/0'))
    const open = ['127.0.0.1', '10.1.2.3', '192.168.0.1', '::1', 'fd00::1', 'fd00:42::1', '8.8.8.8']
    expect(open.filter((address) => !guard.permits(address))).toEqual([])
  })

  it.each([
    ['10.0.0.0/0', '0.0.0.0/0'],
    ['10.0.0.1/8', '10.0.0.0/8'],
    ['192.168.1.0/16', '192.168.0.0/16'],
    ['127.0.0.1/31', '127.0.0.0/31'],
    ['fd00::1/8', 'fd00::/8'],
    ['fd00:1::/16', 'fd00::/16'],
    ['::1/0', '::/0'],
  ])('%s does not begin at its prefix and is refused in one line that shows %s', (text, range) => {
    const [address] = text.split('/')
    expect(refusalOf(() => parseAllowedCidrs(`10.0.0.0/8, ${text}`))).toEqual({
      code: 'config_invalid',
      message: `SAGAPOST_ALLOWED_CIDRS: "${text}" does not begin at its own prefix: write ${range} for the range, or ${address} for the address`,
    })
  })

  it.each([
    ['', []],
    [' , ', []],
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['10.0.0.0/8,192.168.0.0/16', ['10.0.0.0/8', '192.168.0.0/16']],
    ['fd00::/8\n::1', ['fd00::/8', '::1/128']],
    ['0.0.0.0/0 ::/0', ['0.0.0.0/0', '::/0']],
    ['10.0.0.1/32 FD00::1/128', ['10.0.0.1/32', 'FD00::1/128']],
  ])('%j are read as %j', (text, cidrs) => {
    expect(parseAllowedCidrs(text)).toEqual(cidrs)
  })

  it.each([
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/a',
    'localhost',
    '::ffff:10.0.0.0/104',
    'fe80::1%eth0/64',
    '0x0a000000/8',
  ])('%j are refused in one line that names them', (text) => {
    expect(() => parseAllowedCidrs(`10.0.0.0/8, ${text}`)).toThrow(`"${text}" is not an address range`)
  })
})

describe('names', () => {
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup()
  })
  const four = (address: string): ResolvedAddress => ({ address, family: 4 })
  const six = (address: string): ResolvedAddress => ({ address, family: 6 })

  async function sendTo(answers: ResolvedAddress[][], allowedCidrs: string[], port: number) {
    let lookups = 0
    const sender = createSenderWithLookup({ requestTimeoutMs: 20_000, allowedCidrs }, async () => {
      lookups += 1
      return answers[Math.min(lookups, answers.length) - 1] ?? []
    })
    cleanups.push(sender.close)
    const outcome = await sender.send(request(`https://hooks.example.com:${port}/`))
    return { outcome, lookups, sender }
  }

  it.each([
    ['loopback', [four('127.0.0.1')]],
    ['metadata', [four('169.254.169.254')]],
    ['a mapped loopback', [six('::ffff:127.0.0.1')]],
    ['a unique local address', [six('fd00::1')]],
    ['an IPv4-compatible address', [six('::93.184.215.14')]],
    ['a link-local address with its zone', [six('fe80::1%lo')]],
    ['a public one and loopback', [four('93.184.215.14'), four('127.0.0.1')]],
    ['loopback and a public one', [four('127.0.0.1'), four('93.184.215.14')]],
    ['a public IPv6 and loopback', [six('2606:4700::1'), four('127.0.0.1')]],
    ['something that is no address', [four('localhost')]],
  ])('that resolve to %s are refused, and nothing arrives', async (_what, addresses) => {
    const watched = await watch('127.0.0.1')
    cleanups.push(() => watched.server.close())
    const { outcome } = await sendTo([addresses], [], watched.port)
    expect(outcome).toMatchObject({ errorCode: 'blocked_address' })
    expect(watched.connections).toBe(0)
  })

  it('are looked up once per connection: a second, different answer (rebinding) is never requested', async () => {
    const allowed = await watch('127.0.0.2')
    const forbidden = await watch('127.0.0.1')
    cleanups.push(
      () => allowed.server.close(),
      () => forbidden.server.close(),
    )
    allowed.server.on('connection', (socket) => socket.destroy())
    const answers = [[four('127.0.0.2')], [four('127.0.0.1')]]
    const first = await sendTo(answers, ['127.0.0.2/32'], allowed.port)
    expect(first.lookups).toBe(1)
    expect(first.outcome).toMatchObject({ errorCode: 'tls_failed' })
    expect(allowed.connections).toBe(1)

    // The next connection asks again, gets the other answer, and refuses it.
    const second = await first.sender.send(request(`https://hooks.example.com:${forbidden.port}/`))
    expect(second).toMatchObject({ errorCode: 'blocked_address' })
    expect(forbidden.connections).toBe(0)
  })

  it('get no byte, the handshake’s included, if the peer is not the address that was checked', async () => {
    const watched = await watch('127.0.0.1')
    cleanups.push(() => watched.server.close())
    let asked = 0
    const connector = createSecureConnector({
      // The answers pass, the connected socket's peer does not: as if the network had led elsewhere.
      guard: { permits: () => ++asked === 1 },
      lookup: async () => [four('127.0.0.1')],
      secureContext: trustAuthorities([]),
      connectTimeoutMs: 20_000,
    })
    const closed = once(watched.server, 'connection').then(([socket]) => once(socket.resume(), 'close'))
    const target = { hostname: 'hooks.example.com', protocol: 'https:', port: String(watched.port) }
    const error = await new Promise<Error | null>((resolve) =>
      connector.connect(target, (...[failure]: [Error | null, unknown]) => resolve(failure)),
    )
    expect(error).toMatchObject({ errorCode: 'blocked_address' })
    await closed
    expect(watched).toMatchObject({ connections: 1, bytes: 0 })
  })

  it.each([
    ['ENOTFOUND', 'dns_not_found'],
    ['ENODATA', 'dns_not_found'],
    ['EAI_AGAIN', 'dns_failed'],
    ['ESERVFAIL', 'dns_failed'],
    ['EAI_FAIL', 'dns_failed'],
  ])('whose lookup fails with %s end with %s', async (code, errorCode) => {
    const sender = createSenderWithLookup({ requestTimeoutMs: 20_000, allowedCidrs: [] }, () =>
      Promise.reject(Object.assign(new Error('lookup'), { code })),
    )
    cleanups.push(sender.close)
    expect(await sender.send(request('https://hooks.example.com/'))).toMatchObject({ errorCode })
  })

  it('without an address end with dns_not_found', async () => {
    expect((await sendTo([[]], [], 443)).outcome).toMatchObject({ errorCode: 'dns_not_found' })
  })

  it('whose lookup never ends end with timeout', async () => {
    const sender = createSenderWithLookup(
      { requestTimeoutMs: 200, allowedCidrs: [] },
      () => new Promise(() => {}),
    )
    cleanups.push(sender.close)
    expect(await sender.send(request('https://hooks.example.com/'))).toMatchObject({ errorCode: 'timeout' })
  })

  it('with several addresses are reached by the one that answers', async () => {
    const receiver = await startReceiver()
    cleanups.push(receiver.stop)
    const sender = createSenderWithLookup(
      {
        requestTimeoutMs: 20_000,
        allowedCidrs: ['127.0.0.0/8', '::1/128'],
        extraCertificateAuthorities: [receiver.certificateAuthority],
      },
      async () => [six('::1'), four('127.0.0.3'), four('127.0.0.1')],
    )
    cleanups.push(sender.close)
    expect(await sender.send(request(`https://localhost:${receiver.port}/`))).toMatchObject({
      delivered: true,
    })
  })
})

it('a redirect to a forbidden address is not followed: nothing arrives there', async () => {
  const watched = await watch('127.0.0.2')
  const receiver = await startReceiver({
    respond: () => ({ status: 307, headers: { location: `https://127.0.0.2:${watched.port}/` } }),
  })
  const sender = createWebhookSender({
    requestTimeoutMs: 20_000,
    allowedCidrs: ['127.0.0.1/32'],
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  try {
    expect(await sender.send(request(receiver.url))).toMatchObject({ errorCode: 'http_307' })
    expect(watched.connections).toBe(0)
    expect(receiver.requests).toHaveLength(1)
  } finally {
    await sender.close()
    await receiver.stop()
    watched.server.close()
  }
})
