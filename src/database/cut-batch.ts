/** A row of a queue that holds several entries. `rows_max` is the limit of rows that the statement chose. */
export interface QueueRow {
  size: number
  rows_max: number
}

/**
 * Cuts the rows that were read down to a batch: at least one row, and further rows while they fit. The statement
 * estimates by the oldest row's size and so reads too many when later rows hold more; those stay in the queue.
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
