import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { deliveryErrorCodes, refuseHeaders } from '../../src/webhook/index.js'

describe('headers of a subscription', () => {
  it.each([
    {},
    { 'x-team': 'orders' },
    { Authorization: 'Bearer abc.def-ghi_jkl' },
    { 'x-empty': '' },
    { "x-all-!#$%&'*+.^_`|~": 'a\tb' },
    { cookie: 'a=b' },
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`x-${i}`, 'v'])),
  ])('are accepted: %j', (headers) => {
    expect(refuseHeaders(headers)).toBeNull()
  })

  it.each([
    'webhook-id',
    'Webhook-Signature',
    'webhook-anything',
    'sagapost-attempt',
    'SAGAPOST-x',
    'host',
    'Host',
    'content-length',
    'content-type',
    'content-encoding',
    'connection',
    'keep-alive',
    'transfer-encoding',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'proxy-authorization',
    'proxy-connection',
    'http2-settings',
    'user-agent',
    'accept-encoding',
    'traceparent',
    'tracestate',
  ])('may not set %s, which is reserved', (field) => {
    expect(refuseHeaders({ 'x-fine': 'a', [field]: 'b' })).toEqual({
      field,
      detail: 'The header is reserved',
    })
  })

  it.each(['', ' ', 'a b', 'a:', 'a\r\nb', 'a\0', 'ä', '(a)', 'a,b', ':path'])(
    'may not have the name %j',
    (field) => {
      expect(refuseHeaders({ [field]: 'v' })).toMatchObject({
        field,
        detail: expect.stringContaining('name'),
      })
    },
  )

  it.each(['a\r\nx-smuggled: b', 'a\nb', 'a\rb', 'a\0b', 'ä', '€', '\x7f', '\x1b[0m'])(
    'may not have the value %j',
    (value) => {
      expect(refuseHeaders({ 'x-a': value })).toMatchObject({ field: 'x-a', detail: expect.any(String) })
    },
  )

  it('may not have a value that is not a string', () => {
    const headers = { 'x-a': 1 } as unknown as Record<string, string>
    expect(refuseHeaders(headers)).toEqual({ field: 'x-a', detail: 'A header value is a string' })
  })

  it('are bounded in number, length and sum, and come once each', () => {
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`x-${i}`, 'v']))
    expect(refuseHeaders(many)).toMatchObject({ field: 'headers' })
    expect(refuseHeaders({ [`x${'a'.repeat(100)}`]: 'v' })).not.toBeNull()
    expect(refuseHeaders({ 'x-a': 'a'.repeat(2_001) })).toMatchObject({ field: 'x-a' })
    const large = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`x-${i}`, 'v'.repeat(1_900)]))
    expect(refuseHeaders(large)).toMatchObject({ field: 'headers' })
    expect(refuseHeaders({ 'x-a': '1', 'X-A': '2' })).toMatchObject({ field: 'X-A' })
  })
})

it('[O1, J6] docs/reference/delivery-errors.md lists every code with its meaning, and no other', async () => {
  const page = await readFile(new URL('../../docs/reference/delivery-errors.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z_<>]+)` \| (.+?) \|$/gm)].map(([, code, meaning]) => [
    code,
    meaning,
  ])
  expect(rows).toEqual(Object.entries(deliveryErrorCodes))
})

it('[J1] every code fits its column', () => {
  for (const code of Object.keys(deliveryErrorCodes)) expect(code.length).toBeLessThanOrEqual(100)
})
