const LINE_INTS = 16
const LINES = 2 ** 18
const ROUNDS = 8

/**
 * How long one read takes, in ns, that depends on the one before, anywhere in 16 MiB. A neighbour on the same processor
 * takes caches and bandwidth away, not cores, and that shows nowhere else.
 */
export function probeMemory(): number {
  const next = new Int32Array(LINES * LINE_INTS)
  // One cycle through all lines (Sattolo).
  const order = Int32Array.from({ length: LINES }, (_, line) => line)
  for (let last = LINES - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * last)
    const line = order[last] as number
    order[last] = order[other] as number
    order[other] = line
  }
  for (let at = 0; at < LINES; at++) next[at * LINE_INTS] = (order[at] as number) * LINE_INTS
  walk(next, LINES)
  const startedAt = performance.now()
  const end = walk(next, ROUNDS * LINES)
  const ns = ((performance.now() - startedAt) / (ROUNDS * LINES)) * 1e6
  if (end !== 0) throw new Error('the walk did not come back to where it began')
  return ns
}

function walk(next: Int32Array, steps: number): number {
  let at = 0
  for (let step = 0; step < steps; step++) at = next[at] as number
  return at
}
