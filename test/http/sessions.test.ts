import { describe, expect, it } from 'vitest'
import { createEndedSessions, createKey } from '../../src/api-keys/index.js'
import { createSessions } from '../../src/http/sessions.js'
import { useDatabase } from '../support/database.js'
import { adminKey, call, startTestApi, useApi } from './api-server.js'

const database = useDatabase()
const api = useApi(database)

const signIn = async (key: string, headers: Record<string, string> = {}) => {
  const answer = await api.call('POST', '/session', { key, headers })
  return { ...answer, cookie: answer.headers.get('set-cookie') ?? '' }
}
const pairOf = (setCookie: string) => setCookie.split(';')[0] ?? ''
const withCookie = (cookie: string, more: Record<string, string> = {}) => ({
  key: null,
  headers: { cookie: `other=1; ${pairOf(cookie)}`, ...more },
})

/** Asked for nothing here. */
const never = createEndedSessions(undefined as never)

describe('a session', () => {
  it('[O2] is created with a key, reports its rights, and has the rights of the key', async () => {
    const { key } = await createKey(database.as('api_key_admin'), { name: 'reader', scope: 'read' })
    const { status, body, cookie } = await signIn(key)
    expect([status, body]).toEqual([200, { scope: 'read', may: ['read', 'readSubscriptions', 'signIn'] }])
    expect(cookie).toMatch(/^sagapost_session=[\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
    expect(Buffer.from(pairOf(cookie).split('=')[1] ?? '', 'base64url').toString('latin1')).not.toContain(key)
    expect((await api.call('GET', '/session', withCookie(cookie))).body).toEqual(body)
    expect((await api.call('GET', '/v1/events', withCookie(cookie))).status).toBe(200)
    const page = { 'sagapost-page': '1' }
    const publish = { ...withCookie(cookie, page), body: { type: 'a', payload: 1 } }
    expect(await api.call('POST', '/v1/events', publish)).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
  })

  it('[O2] is Secure where the page was loaded over HTTPS', async () => {
    const { cookie } = await signIn(adminKey, { origin: 'https://sagapost.example' })
    expect(cookie).toMatch(/; Secure$/)
  })

  it('[O2] ends on sign-out, and when it expires', async () => {
    const answer = await api.call('DELETE', '/session', { key: null })
    expect(answer.status).toBe(204)
    expect(answer.headers.get('set-cookie')).toContain('sagapost_session=; Path=/; Max-Age=0')
    let nowMs = 0
    const sessions = createSessions(Buffer.alloc(32, 1), never, () => nowMs)
    const request = (cookie: string) => ({ headers: { cookie } }) as never
    const cookie = pairOf(sessions.begin('key', { headers: {} } as never))
    expect(sessions.read(request(cookie))?.key).toBe('key')
    nowMs = 12 * 3_600_000 - 1
    expect(sessions.read(request(cookie))?.key).toBe('key')
    nowMs += 1
    expect(sessions.read(request(cookie))).toBeUndefined()
  })

  it('[O2] that was signed out is refused on every server, a copy of its cookie too; others stay valid', async () => {
    const other = await startTestApi(database.url)
    const { key } = await createKey(database.as('api_key_admin'), { name: 'leaver', scope: 'read' })
    const { cookie } = await signIn(key)
    const { cookie: second } = await signIn(key)
    const elsewhere = () => call(`${other.url}/session`, 'GET', withCookie(cookie))
    expect((await elsewhere()).status).toBe(200)
    expect((await api.call('DELETE', '/session', withCookie(cookie))).status).toBe(204)
    expect(await api.call('GET', '/session', withCookie(cookie))).toMatchObject({
      status: 401,
      body: { code: 'unauthenticated', detail: 'this session was signed out; sign in again' },
    })
    await expect.poll(async () => (await elsewhere()).status).toBe(401)
    expect((await api.call('GET', '/session', withCookie(second))).status).toBe(200)
    await other.stop()
  })

  it('[O2] that was signed out ends its live stream', async () => {
    const { cookie } = await signIn(adminKey)
    const { headers } = withCookie(cookie)
    const stream = await fetch(`${api.url}/v1/live`, { headers })
    expect(stream.status).toBe(200)
    expect((await api.call('DELETE', '/session', withCookie(cookie))).status).toBe(204)
    // Resolves when the server has ended it.
    expect(await stream.text()).toContain('retry: ')
  })

  it('[O2] that is forged, changed or of another master key is refused', async () => {
    const { cookie } = await signIn(adminKey)
    const [name, value = ''] = pairOf(cookie).split('=')
    const other = createSessions(Buffer.alloc(32, 9), never).begin(adminKey, { headers: {} } as never)
    const bad = [
      '',
      'x',
      `${value.slice(0, -2)}AA`,
      value.slice(0, 20),
      'A'.repeat(5_000),
      pairOf(other).split('=')[1],
    ]
    for (const each of bad) {
      const answer = await api.call('GET', '/v1/events', {
        key: null,
        headers: { cookie: `${name}=${each}` },
      })
      expect([each, answer.status, answer.body.code]).toEqual([each, 401, 'unauthenticated'])
    }
  })

  it('[O2] changes something only for the page itself; a key needs no such proof', async () => {
    const { cookie } = await signIn(adminKey)
    const body = { type: 'csrf', payload: 1 }
    const ask = async (headers: Record<string, string>) =>
      (await api.call('POST', '/v1/events', { ...withCookie(cookie, headers), body })).status
    expect(await ask({})).toBe(403)
    expect(await ask({ 'sagapost-page': '1' })).toBe(202)
    expect(await ask({ 'sagapost-page': '1', 'sec-fetch-site': 'same-origin' })).toBe(202)
    for (const site of ['same-site', 'cross-site', 'none']) {
      expect([site, await ask({ 'sagapost-page': '1', 'sec-fetch-site': site })]).toEqual([site, 403])
    }
    expect((await api.call('POST', '/v1/events', { body })).status).toBe(202)
  })

  it('[O2] of a bad key is refused like any bad key', async () => {
    const server = await startTestApi(database.url)
    const ask = async () => (await call(`${server.url}/session`, 'POST', { key: 'spk_bad' })).status
    for (let n = 0; n < 20; n++) expect(await ask()).toBe(401)
    expect(await ask()).toBe(429)
    await server.stop()
  })
})
