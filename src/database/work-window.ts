import type pg from 'pg'

/** Event ids from `from` up to, not including, `to`. */
export interface EventRange {
  from: string
  to: string
}

/** The tightest range that holds these events, so that only their partitions are met. */
export function rangeAround(eventIds: readonly string[]): EventRange {
  const ids = eventIds.map(BigInt)
  const first = ids.reduce((least, id) => (id < least ? id : least))
  const last = ids.reduce((greatest, id) => (id > greatest ? id : greatest))
  return { from: String(first), to: String(last + 1n) }
}

export interface WorkWindow {
  /** The one to three partitions that new events go through; the hot loops ask for nothing else. */
  fresh: EventRange
  /** Older partitions, from the oldest that has open work; null when none has. */
  older: EventRange | null
}

/** Serves the hot statements their bounds (migrations/0028). Callable by saga_orchestrator and job_worker. */
export async function readWorkWindow(pool: pg.Pool): Promise<WorkWindow> {
  const { rows } = await pool.query<{
    open_from: string
    fresh_from: string
    fresh_to: string
    older: boolean
  }>('SELECT open_from, fresh_from, fresh_to, open_from < fresh_from AS older FROM sagapost.work_window()')
  const window = rows[0]
  if (!window) throw new Error('sagapost.work_window() returned nothing')
  return {
    fresh: { from: window.fresh_from, to: window.fresh_to },
    older: window.older ? { from: window.open_from, to: window.fresh_from } : null,
  }
}
