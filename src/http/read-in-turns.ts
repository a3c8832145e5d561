/** Something that is read in pieces: what it yields are pauses. */
export type Reading<Result> = Generator<void, Result>

/** So many characters are read before a reading pauses: most bodies are shorter, and are read at once. */
export const PIECE_CHARACTERS = 32 * 1024
/** One reading goes on for so long, then others have their turn. */
const TURN_MS = 5

/** Reads to the end: at once what is small, else in turns; a promise only then. */
export function inTurns<Result>(reading: Reading<Result>): Result | Promise<Result> {
  const first = reading.next()
  return first.done ? first.value : readOn(reading)
}

/** The same without turns, for what is bounded otherwise. */
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

/** One reading between two looks at the network, however many there are. */
function nextTurn(): Promise<void> {
  return new Promise((take) => {
    if (waiting.push(take) === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(giveTurn)
}
