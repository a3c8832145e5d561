import { setImmediate as nextTurn } from 'node:timers/promises'

/** A batch that takes longer waits for a lock: the next ones overtake it. */
const STALLED_MS = 250
const LANES_MAX = 4
/** Used while more than one batch is waiting. */
const BUSY_LANES = 2

/**
 * Runs items in batches: what arrives during a batch goes with the next, and a second batch runs in parallel only when
 * more than one is waiting. (Always two: half the batch size, the same rate, a third more CPU.) `run` never fails.
 */
export function gatherBatches<Item>(
  batchMax: number,
  run: (batch: Item[]) => Promise<void>,
): (item: Item) => void {
  const queue: Item[] = []
  let lanes = 0
  let stalled = 0

  const flush = async (): Promise<void> => {
    // Callers whose last batch was answered together come again within one turn of the event loop.
    await nextTurn()
    while (queue.length > 0) {
      let late = false
      const timer = setTimeout(() => {
        late = true
        stalled++
        if (queue.length > 0) open()
      }, STALLED_MS)
      await run(queue.splice(0, batchMax))
      clearTimeout(timer)
      if (late) stalled--
      await nextTurn()
    }
    lanes--
  }

  const open = () => {
    const free = lanes - stalled
    const wanted = queue.length > batchMax ? BUSY_LANES : 1
    if (free >= wanted || lanes >= LANES_MAX) return
    lanes++
    void flush()
  }

  return (item) => {
    queue.push(item)
    open()
  }
}
