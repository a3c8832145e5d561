import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { listCandidates } from '../../../src/webhook/dns/list-candidates.js'
import { parseHosts } from '../../../src/webhook/dns/parse-hosts.js'
import { parseResolvConf } from '../../../src/webhook/dns/parse-resolv-conf.js'
import { readWhenChanged } from '../../../src/webhook/dns/read-when-changed.js'

describe('/etc/hosts', () => {
  it('gives each name all its addresses, in any case, and ignores invalid entries', () => {
    const hosts = parseHosts(
      [
        '# local',
        '127.0.0.1\tlocalhost',
        '::1  localhost ip6-localhost # both families',
        '10.0.0.5 Hooks.Example.COM hooks hooks',
        'not-an-address nowhere',
        '10.0.0.6',
        '',
        '10.0.0.7 hooks. \r',
      ].join('\n'),
    )
    expect(Object.fromEntries(hosts)).toEqual({
      localhost: [
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ],
      'ip6-localhost': [{ address: '::1', family: 6 }],
      'hooks.example.com': [{ address: '10.0.0.5', family: 4 }],
      hooks: [
        { address: '10.0.0.5', family: 4 },
        { address: '10.0.0.7', family: 4 },
      ],
    })
  })
})

describe('/etc/resolv.conf', () => {
  it('names servers, domains and options', () => {
    const text = [
      '; made by the network',
      'nameserver 10.96.0.10',
      'nameserver fd00::53 # the other one',
      'nameserver nonsense',
      'search shop.svc.cluster.local svc.cluster.local. cluster.local',
      'options ndots:5 timeout:2 edns0',
      'options attempts:3 rotate',
    ].join('\n')
    expect(parseResolvConf(text, 'pod-1')).toEqual({
      servers: ['10.96.0.10', 'fd00::53'],
      search: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
      ndots: 5,
      timeoutMs: 2_000,
      attempts: 3,
    })
  })

  it.each([
    ['', { servers: [], search: ['example.com'], ndots: 1, timeoutMs: 5_000, attempts: 2 }],
    ['search .', { search: [] }],
    ['search a.test\ndomain b.test c.test', { search: ['b.test'] }],
    ['domain b.test\nsearch a.test c.test', { search: ['a.test', 'c.test'] }],
    ['options ndots:99 timeout:99 attempts:99', { ndots: 15, timeoutMs: 30_000, attempts: 5 }],
    ['options ndots:0 timeout:0 attempts:0', { ndots: 0, timeoutMs: 1_000, attempts: 1 }],
    ['options ndots:x timeout', { ndots: 1, timeoutMs: 5_000 }],
    [
      [1, 2, 3, 4].map((last) => `nameserver 10.0.0.${last}`).join('\n'),
      { servers: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] },
    ],
  ])('%j means %j to the machine host.example.com', (text, conf) => {
    expect(parseResolvConf(text, 'host.example.com')).toMatchObject(conf)
  })
})

it.each([
  ['hooks', 1, ['hooks.a.test', 'hooks.b.test', 'hooks']],
  ['hooks.shop', 1, ['hooks.shop', 'hooks.shop.a.test', 'hooks.shop.b.test']],
  ['hooks.shop', 5, ['hooks.shop.a.test', 'hooks.shop.b.test', 'hooks.shop']],
  ['hooks', 0, ['hooks', 'hooks.a.test', 'hooks.b.test']],
  ['hooks.', 1, ['hooks']],
])('the name %s with ndots:%i is queried as %j', (name, ndots, candidates) => {
  expect(listCandidates(name, { search: ['a.test', 'b.test'], ndots })).toEqual(candidates)
})

describe('a file of the system', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sagapost-dns-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is read again when it has changed, was replaced or is gone, and only then', () => {
    const path = join(folder, 'hosts')
    let reads = 0
    const read = readWhenChanged(path, (text) => {
      reads += 1
      return text
    })
    expect([read(), read(), reads]).toEqual(['', '', 1])
    writeFileSync(path, 'one')
    expect([read(), read(), reads]).toEqual(['one', 'one', 2])
    writeFileSync(`${path}.new`, 'two')
    renameSync(`${path}.new`, path)
    expect([read(), read(), reads]).toEqual(['two', 'two', 3])
    rmSync(path)
    expect([read(), read(), reads]).toEqual(['', '', 4])
  })
})
