/** Ids are not committed in their order: a look past a backlog begins where one ended that is at least this old. */
const LATE_MS = 100

export interface BacklogMark {
  /** The delivery after which the next look begins. */
  pastSaga(): string
  /** A look has come up to this delivery. */
  looked(lastSaga: string): void
}

/** How far an orchestrator has looked past a backlog of deliveries that wait for their first jobs. */
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
