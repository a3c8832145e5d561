import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createNameResolver, type NameResolverOptions } from '../../../src/webhook/dns/index.js'
import { type NameAnswer, type NameServer, startNameServer } from '../../support/name-server.js'

const folder = mkdtempSync(join(tmpdir(), 'sagapost-dns-'))
const hostsFile = join(folder, 'hosts')
const resolvFile = join(folder, 'resolv.conf')
const cleanups: (() => unknown)[] = []
beforeEach(() => {
  writeFileSync(hostsFile, '')
  writeFileSync(resolvFile, 'search .')
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})
afterAll(() => rmSync(folder, { recursive: true }))

async function serve(names: Record<string, NameAnswer>): Promise<NameServer> {
  const server = await startNameServer(names)
  cleanups.push(server.stop)
  return server
}

function resolver(servers: NameServer[], options: Partial<NameResolverOptions> = {}) {
  const created = createNameResolver({
    // Long enough that only the test of the deadline reaches it.
    timeoutMs: 200_000,
    servers: servers.map(({ address }) => address),
    hostsFile,
    resolvFile,
    ...options,
  })
  cleanups.push(created.close)
  return created
}

const four = (address: string) => ({ address, family: 4 })
const six = (address: string) => ({ address, family: 6 })

describe('a name', () => {
  it('has the addresses of both families that its server names', async () => {
    const server = await serve({ 'hooks.test': { addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::5'] } })
    const addresses = await resolver([server]).resolve('hooks.test')
    expect(addresses).toHaveLength(3)
    expect(addresses).toEqual(
      expect.arrayContaining([four('192.0.2.1'), four('192.0.2.2'), six('2001:db8::5')]),
    )
  })

  it('with very many addresses has the first 32 of them', async () => {
    const addresses = Array.from({ length: 50 }, (_, index) => `192.0.2.${index}`)
    const server = await serve({ 'hooks.test': { addresses } })
    expect(await resolver([server]).resolve('hooks.test')).toEqual(addresses.slice(0, 32).map(four))
  })

  it('is taken from the hosts file, as it is now, before any server is asked', async () => {
    const server = await serve({ 'hooks.test': { addresses: ['192.0.2.1'] } })
    const names = resolver([server])
    writeFileSync(hostsFile, '10.0.0.5 hooks.test\nfd00::5 hooks.test')
    expect(await names.resolve('hooks.test')).toEqual([four('10.0.0.5'), six('fd00::5')])
    expect(await names.resolve('hooks.test.')).toEqual([four('10.0.0.5'), six('fd00::5')])
    writeFileSync(hostsFile, '10.0.0.66 hooks.test')
    expect(await names.resolve('hooks.test')).toEqual([four('10.0.0.66')])
    expect(server.questions).toEqual([])
    writeFileSync(hostsFile, '')
    expect(await names.resolve('hooks.test')).toEqual([four('192.0.2.1')])
  })

  it.each(['localhost', 'localhost.', 'hooks.localhost'])(
    '%s is this machine, whatever servers answer',
    async (name) => {
      const server = await serve({ [name]: { addresses: ['192.0.2.1'] } })
      expect(await resolver([server]).resolve(name)).toEqual([four('127.0.0.1'), six('::1')])
      expect(server.questions).toEqual([])
    },
  )

  it('is searched in the domains of resolv.conf, as they are now', async () => {
    const server = await serve({
      'hooks.one.test': { addresses: ['192.0.2.1'] },
      'hooks.two.test': { addresses: ['192.0.2.2'] },
    })
    const names = resolver([server])
    writeFileSync(resolvFile, 'search none.test one.test two.test')
    expect(await names.resolve('hooks')).toEqual([four('192.0.2.1')])
    expect(server.questions).toEqual(['hooks.none.test', 'hooks.one.test'])
    writeFileSync(resolvFile, 'search two.test')
    expect(await names.resolve('hooks')).toEqual([four('192.0.2.2')])
    await expect(names.resolve('hooks.')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  it('is found behind a domain whose servers fail', async () => {
    const server = await serve({ 'hooks.bad.test': 'fails', hooks: { addresses: ['192.0.2.1'] } })
    writeFileSync(resolvFile, 'search bad.test')
    expect(await resolver([server]).resolve('hooks')).toEqual([four('192.0.2.1')])
  })

  it('without an address, or that no server can have, is not found', async () => {
    const server = await serve({ 'empty.test': { addresses: [] } })
    const names = resolver([server])
    for (const name of ['empty.test', 'nowhere.test', `${'a'.repeat(64)}.test`, 'a..test']) {
      await expect(names.resolve(name)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    }
  })

  it.each(['fails', 'refuses', 'silent'] as const)(
    'is asked of the next server if one %s',
    async (answer) => {
      const first = await serve({ 'hooks.test': answer })
      const second = await serve({ 'hooks.test': { addresses: ['192.0.2.1'] } })
      writeFileSync(resolvFile, 'options timeout:1 attempts:5')
      expect(await resolver([first, second]).resolve('hooks.test')).toEqual([four('192.0.2.1')])
      expect(first.questions).toContain('hooks.test')
    },
  )

  it('that all servers fail on is not reported as missing', async () => {
    const servers = [await serve({ 'hooks.test': 'fails' }), await serve({ 'hooks.test': 'fails' })]
    await expect(resolver(servers).resolve('hooks.test')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })

  it.each([4, 6] as const)(
    'does not wait for ever for the family that its server does not answer: %i',
    async (family) => {
      const server = await serve({
        'hooks.test': { addresses: ['192.0.2.1', '2001:db8::5'], silentFor: family },
      })
      const left = family === 4 ? six('2001:db8::5') : four('192.0.2.1')
      expect(await resolver([server]).resolve('hooks.test')).toEqual([left])
    },
  )

  it('without an answer from any server is abandoned at the deadline', async () => {
    const server = await serve({ 'dead.test': 'silent' })
    await expect(resolver([server], { timeoutMs: 100 }).resolve('dead.test')).rejects.toMatchObject({
      code: 'ETIMEOUT',
    })
  })

  it('is abandoned when the resolver is closed', async () => {
    const server = await serve({ 'dead.test': 'silent' })
    const names = resolver([server])
    const dead = names.resolve('dead.test').catch((error) => error)
    await expect.poll(() => server.questions).toEqual(['dead.test'])
    names.close()
    expect(await dead).toMatchObject({ code: 'ECANCELLED' })
  })
})

describe('an answer', () => {
  it('is cached as long as its server says, within a second and five minutes', async () => {
    const server = await serve({
      'hooks.test': { addresses: ['192.0.2.1'], ttlS: 60 },
      'moving.test': { addresses: ['192.0.2.1'], ttlS: 0 },
      'fixed.test': { addresses: ['192.0.2.1'], ttlS: 86_400 },
    })
    let nowMs = 0
    const names = resolver([server], { nowMs: () => nowMs })
    const askedAfter = async (name: string, ms: number) => {
      nowMs += ms
      const before = server.questions.length
      expect(await names.resolve(name)).toEqual([four('192.0.2.1')])
      return server.questions.length > before
    }
    expect(await askedAfter('hooks.test', 0)).toBe(true)
    expect(await askedAfter('hooks.test', 59_999)).toBe(false)
    expect(await askedAfter('hooks.test', 1)).toBe(true)
    expect(await askedAfter('moving.test', 0)).toBe(true)
    expect(await askedAfter('moving.test', 999)).toBe(false)
    expect(await askedAfter('moving.test', 1)).toBe(true)
    expect(await askedAfter('fixed.test', 0)).toBe(true)
    expect(await askedAfter('fixed.test', 299_999)).toBe(false)
    expect(await askedAfter('fixed.test', 1)).toBe(true)
  })

  it('that the name does not exist, or has no address, is cached for three seconds', async () => {
    const server = await serve({ 'hooks.test': 'fails' })
    let nowMs = 0
    const names = resolver([server], { nowMs: () => nowMs })
    const codeOf = (name: string) => names.resolve(name).catch(({ code }) => code)
    expect([await codeOf('hooks.test'), await codeOf('new.test')]).toEqual(['ESERVFAIL', 'ENOTFOUND'])
    server.names.set('hooks.test', { addresses: ['192.0.2.1'] })
    server.names.set('new.test', { addresses: ['192.0.2.2'] })
    nowMs = 2_999
    expect([await codeOf('hooks.test'), await codeOf('new.test')]).toEqual(['ESERVFAIL', 'ENOTFOUND'])
    nowMs = 3_000
    expect(await names.resolve('hooks.test')).toEqual([four('192.0.2.1')])
    expect(await names.resolve('new.test')).toEqual([four('192.0.2.2')])
  })

  it('is shared by all callers that ask for the same name', async () => {
    const server = await serve({ 'dead.test': 'silent' })
    const names = resolver([server])
    const asked = Array.from({ length: 50 }, () => names.resolve('dead.test').catch(({ code }) => code))
    await expect.poll(() => server.questions).toEqual(['dead.test'])
    names.close()
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['ECANCELLED']))
    expect(server.questions).toEqual(['dead.test'])
  })
})

it('more names at once than the limit are refused, not queued behind names without an answer', async () => {
  const server = await serve({
    'a.test': 'silent',
    'b.test': 'silent',
    'known.test': { addresses: ['192.0.2.1'] },
  })
  const names = resolver([server], { lookupsMax: 2 })
  await names.resolve('known.test')
  const dead = ['a.test', 'b.test'].map((name) => names.resolve(name).catch(({ code }) => code))
  await expect(names.resolve('c.test')).rejects.toMatchObject({ code: 'EAI_AGAIN' })
  expect(await names.resolve('known.test')).toEqual([four('192.0.2.1')])
  names.close()
  expect(await Promise.all(dead)).toEqual(['ECANCELLED', 'ECANCELLED'])
  await expect(names.resolve('c.test')).rejects.toMatchObject({ code: 'ENOTFOUND' })
})
