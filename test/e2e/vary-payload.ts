const strings = [
  'plain',
  'Grüße, 日本語, 𝔘𝔫𝔦, 👩‍👩‍👧',
  'e\u0301 and \u00e9 are not the same bytes',
  '\u2028\u2029\ufeff\u200b\ud7ff\ue000',
  '"quoted" \\ and / and \b\f\n\r\t',
  '</script><!-- %s $1 \' " ; --',
]
/** As text, where JSON.stringify would change them. */
const spellings = [
  '"\\u0000"',
  '"\\ud800 alone"',
  '"\\u00e9\\/\\u002F"',
  '1e100000',
  '-0.0',
  '123456789012345678901234567890.123456789012345678901234567890',
  '0.1e-7',
  '[[[[[[]]]]],{}]',
  'null',
]
const frames: ((value: string) => string)[] = [
  (value) => value,
  (value) => `{"a":${value},"a":${value}}`,
  (value) => `\t{ "z" :\r\n ${value} ,\n"a":[ ${value}, true ]   }\n`,
  (value) => ` [${value}]`,
]

const KILOBYTE = 1024
const LARGE_EVERY = 500
const MIDDLE_EVERY = 40

/** The same for the same number: one byte, odd spellings, up to 64 kB now and then, 512 kB rarely. */
export function varyPayload(n: number): string {
  if (n % LARGE_EVERY === 1) return filled(n, 512 * KILOBYTE)
  if (n % MIDDLE_EVERY === 1) return filled(n, 1 + ((n * 7919) % (64 * KILOBYTE)))
  if (n % 17 === 0) return String(n % 10)
  const value =
    n % 2 === 0
      ? (spellings[n % spellings.length] as string)
      : JSON.stringify(`${strings[n % strings.length]} ${n}`)
  const frame = frames[n % frames.length] as (value: string) => string
  return frame(value)
}

/** An incompressible string of the given size in bytes. */
function filled(n: number, bytes: number): string {
  let text = ''
  for (let state = n + 1; text.length < bytes - 2; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    text += state.toString(36)
  }
  return `"${text.slice(0, Math.max(0, bytes - 2))}"`
}
