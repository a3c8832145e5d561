import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { useApi } from './api-server.js'

const database = useDatabase()
const api = useApi(database)
const get = (path: string) => api.call('GET', path, { key: null })

/** The directives of a Content-Security-Policy. */
function readPolicy(text: string): Map<string, string[]> {
  return new Map(
    text.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(/\s+/)
      return [name, sources]
    }),
  )
}

/** Which directive rules over what an element loads. */
const directiveOf: Record<string, string> = { script: 'script-src', link: 'style-src', img: 'img-src' }

describe('the page of the documentation', () => {
  it('[O1] loads only what the server itself serves, and its policy allows exactly that', async () => {
    const page = await get('/docs')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = readPolicy(page.headers.get('content-security-policy') ?? '')
    expect(policy.get('default-src')).toEqual(["'none'"])
    const elements = [...page.text.matchAll(/<(\w+)\b[^>]*?\s(?:src|href)="([^"]*)"/g)]
    const assets = elements.filter(([, element]) => element !== 'a')
    expect(assets.length).toBeGreaterThan(0)
    for (const [, element = '', reference = ''] of elements) {
      const url = new URL(reference, `${api.url}/docs`)
      expect(url.origin).toBe(new URL(api.url).origin)
      const asset = await get(url.pathname)
      expect([url.pathname, asset.status]).toEqual([url.pathname, 200])
      expect(asset.headers.get('x-content-type-options')).toBe('nosniff')
      if (element === 'a') continue
      expect(policy.get(directiveOf[element] ?? '')).toContain("'self'")
      if (element === 'script') expect(asset.headers.get('content-type')).toMatch(/^text\/javascript/)
    }
  })

  it('[O1] contains nothing that its policy forbids', async () => {
    const { text, headers } = await get('/docs')
    const policy = readPolicy(headers.get('content-security-policy') ?? '')
    expect(policy.get('script-src')).toEqual(["'self'"])
    expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=|javascript:|<base|<iframe|<object|<form/i)
    // The document is fetched by the script.
    const { text: start } = await get('/docs/start.js')
    const [, document = ''] = /url: '([^']+)'/.exec(start) ?? []
    expect(policy.get('connect-src')).toEqual(["'self'"])
    const served = await get(new URL(document, `${api.url}/docs`).pathname)
    expect([served.status, served.body.openapi]).toEqual([200, '3.1.0'])
  })

  it('[O1] its script, which evaluates no text, is whole', async () => {
    const { text } = await get('/docs/scalar.js')
    const { text: start } = await get('/docs/start.js')
    expect(() => new Function(start)).not.toThrow()
    expect(text.length).toBeGreaterThan(1_000_000)
    expect(text).toContain('createApiReference')
  })
})
