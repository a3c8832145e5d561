export interface LoadEvent {
  type: string
  payload: string
  key: string
}

/** Of the documented types, by share: the first goes to two receivers. */
const types = ['fault.a', 'fault.b', 'fault.b', 'fault.c', 'fault.b'] as const
const LARGE_EVERY = 250
const LARGE_BYTES = 40_000
/** Spellings that must arrive as they are. */
const odd = ['"Grüße, 日本語 👩‍👩‍👧"', '1e400', '"\\u0000 \\/ \\ud800"', '[ 0.10,  -0 ]', 'null', '"plain"']

/** The same for the same schedule and number. */
export function makeEvent(seed: number, n: number): LoadEvent {
  const filler = n % LARGE_EVERY === 7 ? 'x'.repeat(LARGE_BYTES) : `${'abcdefgh'.repeat((n % 13) + 1)}`
  return {
    type: types[n % types.length] as string,
    payload: `{"seed": ${seed},"n":${n} , "odd": ${odd[n % odd.length]}, "filler":"${filler}"}`,
    key: `${seed}-${n}`,
  }
}
