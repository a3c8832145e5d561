/** A row of a queue that holds many entries, taken under a limit of rows that its statement has chosen. */
export interface QueueRow {
  size: number
  rows_max: number
}

/**
 * A batch of the rows that were taken: one at least, and the next ones while there is room. The statement goes by the
 * size of the oldest row, so it takes too many when those behind are fuller. They stay in the queue.
 */
export function cutBatch<Row extends QueueRow>(
  taken: readonly Row[],
  entriesMax: number,
): { batch: Row[]; more: boolean } {
  let entries = 0
  const batch = taken.filter(({ size }, index) => {
    entries += size
    return index === 0 || entries <= entriesMax
  })
  return { batch, more: batch.length < taken.length || taken.length === taken[0]?.rows_max }
}
