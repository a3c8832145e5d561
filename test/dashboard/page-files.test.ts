import { readdir, readFile } from 'node:fs/promises'
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { useApi } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'

const FIRST_LOAD_BYTES_MAX = 250_000

const api = useApi(useDatabase())
const ask = (path: string, headers: Record<string, string> = {}) =>
  api.call('GET', path, { key: null, headers })

const assetsOf = (html: string) =>
  [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path as string)

describe('the files of the dashboard', () => {
  it('[O1] are served by the API itself, and each path of a view gets the page', async () => {
    const { text } = await ask('/')
    expect(text).toContain('<div id="root">')
    for (const path of [
      '/events',
      '/events/7',
      '/deliveries/7',
      '/subscriptions',
      '/sagas/x',
      '/system',
      '/dead-letters/1',
    ]) {
      expect([path, (await ask(path)).text]).toEqual([path, text])
    }
    for (const path of ['/nothing', '/assets/none.js', '/assets/../package.json', '/system/1']) {
      expect((await ask(path)).status).toBe(404)
    }
  })

  it('[O1] load nothing from other hosts', async () => {
    const folder = new URL('../../dist/dashboard/', import.meta.url)
    for (const name of await readdir(folder, { recursive: true })) {
      if (!/\.(html|css|js)$/.test(name)) continue
      const text = await readFile(new URL(name, folder), 'utf8')
      const addresses = [...text.matchAll(/(?:src|href)="https?:|@import\s+["']https?:|url\(["']?https?:/g)]
      expect([name, addresses]).toEqual([name, []])
    }
  })

  it('[O2] the page runs only its own scripts, cannot be framed, and is revalidated on each load', async () => {
    const { headers, text } = await ask('/')
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
    expect(policy).toContain("frame-ancestors 'none'")
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(text).not.toMatch(/<script(?![^>]*src=)[^>]*>|<style|style=|onclick=/)
  })

  it('[O1] the first load is small, and its assets are cached for good', async () => {
    const { text } = await ask('/')
    let bytes = brotliCompressSync(text).length
    for (const path of assetsOf(text)) {
      const answer = await fetch(api.url + path, { headers: { 'accept-encoding': 'br' } })
      expect([path, answer.status]).toEqual([path, 200])
      if (path.startsWith('/assets/')) {
        expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
        expect(answer.headers.get('content-encoding')).toBe('br')
      }
      bytes += brotliCompressSync(Buffer.from(await answer.arrayBuffer())).length
    }
    expect(bytes).toBeLessThan(FIRST_LOAD_BYTES_MAX)
  })
})
