/** A reader that works in pieces; each yield is a pause. */
export type Reading<Result> = Generator<void, Result>

/** The number of characters read before a pause. Most bodies are shorter and are read at once. */
export const PIECE_CHARACTERS = 32 * 1024
/** The time slice of one reader before others continue. */
const TURN_MS = 5

/** Reads to the end: small input synchronously, larger input in turns, as a promise. */
export function inTurns<Result>(reading: Reading<Result>): Result | Promise<Result> {
  const first = reading.next()
  return first.done ? first.value : readOn(reading)
}

/** The same without turns, for input bounded elsewhere. */
export function atOnce<Result>(reading: Reading<Result>): Result {
  for (;;) {
    const next = reading.next()
    if (next.done) return next.value
  }
}

async function readOn<Result>(reading: Reading<Result>): Promise<Result> {
  for (;;) {
    await nextTurn()
    const endsAt = performance.now() + TURN_MS
    do {
      const next = reading.next()
      if (next.done) return next.value
    } while (performance.now() < endsAt)
  }
}

const waiting: (() => void)[] = []

/** Runs one reader per event-loop turn, however many there are. */
function nextTurn(): Promise<void> {
  return new Promise((take) => {
    if (waiting.push(take) === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(giveTurn)
}
