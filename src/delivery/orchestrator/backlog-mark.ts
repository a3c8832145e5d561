/** Ids commit out of order, so a look past the backlog starts where an earlier look ended that is at least this old. */
const LATE_MS = 100

export interface BacklogMark {
  /** The delivery after which the next look starts. */
  pastSaga(): string
  /** Records that a look has reached this delivery. */
  looked(lastSaga: string): void
}

/** How far the orchestrator has looked past a backlog of deliveries that wait for their first jobs. */
export function createBacklogMark(): BacklogMark {
  let late = { atMs: performance.now(), last: '0', next: '0' }
  return {
    pastSaga: () => late.last,
    looked(lastSaga) {
      const nowMs = performance.now()
      if (nowMs - late.atMs >= LATE_MS) late = { atMs: nowMs, last: late.next, next: lastSaga }
    },
  }
}
