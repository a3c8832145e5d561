import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cutMember } from '../../src/client/cut-member.js'

/** JSON text, written with any white space. */
const json = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.constantFrom('', ' ', '\n\t', '\r\n '))
  .map(([text, space]) => JSON.stringify(JSON.parse(text), null, space))
const space = fc.constantFrom('', ' ', '\r\n\t')

it('[E1] finds a member’s own text among any others', () => {
  const members = fc.uniqueArray(fc.tuple(fc.string({ unit: 'binary' }), json), {
    selector: ([name]) => name,
  })
  fc.assert(
    fc.property(members, fc.string({ unit: 'binary' }), json, space, (others, name, value, gap) => {
      const before = others.filter(([other]) => other !== name)
      const written = [...before, [name, value] as const]
        .map(([each, text]) => `${gap}${JSON.stringify(each)}${gap}:${gap}${text}${gap}`)
        .join(',')
      expect(cutMember(`${gap}{${written}}${gap}`, name)).toBe(value)
    }),
    { numRuns: 2_000 },
  )
})

it('[E1] keeps what parsing would change, and reports an absent member', () => {
  const payload = '{ "a": 1e400, "a": 12345678901234567890, "payload": [ "}\\"", -0.0 ] }'
  expect(cutMember(`{"id":"1","deliveries":[{"payload":1}],"payload":${payload}}`, 'payload')).toBe(payload)
  expect(cutMember(`{"pay\\u006coad": 1.0 }`, 'payload')).toBe('1.0')
  expect(cutMember('{}', 'payload')).toBeUndefined()
  expect(cutMember('{"a":{"payload":1}}', 'payload')).toBeUndefined()
})
