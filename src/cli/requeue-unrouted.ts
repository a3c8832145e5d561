import type { RequeuedEvents } from '../delivery/index.js'
import { print } from './print-list.js'
import type { Terminal } from './terminal.js'
import { toJson } from './to-json.js'
import { withRole } from './with-role.js'

/** A statement reads 100,000 events, on a machine that may be busy. */
const STATEMENT_MS_MAX = 10 * 60_000

/** Puts events that were set aside or lost back into the routing queue; the router routes them within a second. */
export async function requeueUnrouted(terminal: Terminal, { json }: { json?: true }): Promise<void> {
  const { requeueEvents } = await import('../delivery/index.js')
  const requeued = await withRole(terminal.env, 'dead_letter_operator', requeueEvents, STATEMENT_MS_MAX)
  await print(terminal, json ? toJson(requeued) : describe(requeued))
}

function describe({ setAside, gone, lost }: RequeuedEvents): string {
  if (setAside + gone + lost === 0) return 'No events were set aside or lost'
  const lines = [
    `Queued ${countOf(setAside)} that had been set aside and ${countOf(lost)} that had been lost`,
  ]
  if (gone > 0) lines.push(`Removed ${countOf(gone)} that had been set aside, no longer stored`)
  return lines.join('\n')
}

function countOf(events: number): string {
  return `${events.toLocaleString('en')} ${events === 1 ? 'event' : 'events'}`
}
