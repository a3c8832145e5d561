import fc from 'fast-check'

const nested = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels)

/** JSON that readers stumble over, as the text that it is; every one of it is a payload as good as any. */
export const hostilePayloads: Record<string, string> = {
  __proto__: '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  'the names of methods': '{"toString":1,"hasOwnProperty":null,"valueOf":[],"toJSON":"x","then":{}}',
  'a name twice': '{"a":1,"a":2,"a":{"b":1,"b":2}}',
  'a name twice, once escaped': '{"a":1,"\\u0061":2}',
  'the fields of an event': '{"type":"x","payload":{"payload":2},"idempotencyKey":"k","events":[]}',
  'a challenge': '{"type":"sagapost.subscription.verification","challenge":"none"}',
  'an escaped NUL': '"\\u0000"',
  'NULs in names': '{"\\u0000":"\\u0000","a\\u0000b":1}',
  'a high surrogate alone': '"\\ud800"',
  'a low surrogate alone': '"\\udfff x"',
  'surrogates in the wrong order': '"\\udc00\\ud800"',
  'surrogates as names': '{"\\ud800":1,"\\udfff":2}',
  'an escaped pair and the character': '["\\ud83d\\ude00","😀"]',
  'a byte order mark inside': '"\ufeff"',
  'line separators': '"\u2028\u2029\u0085"',
  noncharacters: '"\uffff\ufffe\u{10ffff}"',
  'the replacement character': '"\ufffd"',
  'every escape': '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u002f\\u00E9"',
  'DEL and what looks like a quote': '"\u007f\u2019\uff02"',
  '1e400': '1e400',
  '-1e400': '-1e400',
  '1e-400': '1e-400',
  '1e100000': '[1e100000,1E+100000,1e-100000]',
  'minus zero': '[-0,-0.0,-0e0,0e-0]',
  'a number of 10,000 digits': '1'.repeat(10_000),
  'a fraction of 10,000 digits': `0.${'1'.repeat(10_000)}`,
  'numbers that doubles merge': '[9007199254740993,9007199254740992,0.1,0.10000000000000001]',
  'an exponent that no integer holds': '1e99999999999999999999',
  '1,000 levels of lists': nested(1_000, '[', ']'),
  '1,000 levels of objects': `${'{"a":'.repeat(999)}{}${'}'.repeat(999)}`,
  'white space everywhere': '{ \t\n\r"a" \n:\t[ 1 ,\r\n2 ] ,"b": { } }',
  'SQL and templates': '"\'; DROP TABLE sagapost.events; -- $1 %s \\\\x00"',
  'headers and HTML': '"\\r\\nx-injected: 1\\r\\n\\r\\n</script><!--"',
  'an empty text': '""',
  'a number': '0',
  true: 'true',
  null: 'null',
  'an empty list': '[]',
  'an empty object': '{}',
  'an empty name': '{"":{"":[]}}',
  '10,000 members': `{${Array.from({ length: 10_000 }, (_, n) => `"k${n}":${n}`).join(',')}}`,
  'brackets in texts': '["]]]}}}{{{[[[","\\\\",":,"]',
  'a megabyte, to the byte': `"${'x'.repeat(1024 * 1024 - 2)}"`,
  'characters of four bytes': `"${'😀'.repeat(50_000)}"`,
}

const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
const number = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,6})?$/)
const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.stringMatching(/^(\\u[0-9a-fA-F]{4}){0,3}$/),
  fc.constantFrom(
    '\\u0000',
    '\\ud800',
    '\\/',
    '\ufeff',
    '\u2028',
    '__proto__',
    'constructor',
    'é',
    '日',
    '😀',
  ),
)
const string = fc.array(piece, { maxLength: 4 }).map((pieces) => `"${pieces.join('')}"`)

/** JSON as text: numbers, escapes and white space that JSON.stringify would never write. */
export const payloadText: fc.Arbitrary<string> = fc.letrec<{ value: string; padded: string }>((tie) => ({
  padded: fc.tuple(space, tie('value'), space).map((parts) => parts.join('')),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'true',
      'false',
      'null',
      '{}',
      '[ ]',
      '""',
      ...Object.values(hostilePayloads).slice(0, 27),
    ),
    number,
    string,
    fc.array(tie('padded'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .array(fc.tuple(space, string, space, tie('padded')), { maxLength: 4 })
      .map((members) => `{${members.map(([a, name, b, value]) => `${a}${name}${b}:${value}`).join(',')}}`),
  ),
})).value
