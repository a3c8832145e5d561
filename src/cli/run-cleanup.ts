import { print } from './print-list.js'
import type { Terminal } from './terminal.js'
import { toJson } from './to-json.js'
import { withRole } from './with-role.js'

/** In a pipe, one line is printed for this many sagas. */
const LINE_EVERY = 10_000

/** Removes ended sagas in batches and shows the progress: in place on a terminal, as lines in a pipe. */
export async function runCleanup(
  terminal: Terminal,
  { olderThan: ageMs, limit, json }: { olderThan: number; limit?: number; json?: true },
): Promise<void> {
  const { cleanUpSagas } = await import('../sagas/index.js')
  const { stderr } = terminal
  const { isTTY } = stderr
  let lines = 0
  const onProgress = (removed: number) => {
    if (isTTY) stderr.write(`\r${textOf(removed)}`)
    else if (Math.floor(removed / LINE_EVERY) > lines) {
      lines = Math.floor(removed / LINE_EVERY)
      stderr.write(`${textOf(removed)}\n`)
    }
  }
  const removed = await withRole(terminal.env, 'saga_app_role', (pool) =>
    cleanUpSagas(pool, { ageMs, limit, onProgress }),
  )
  if (isTTY) stderr.write('\r')
  await print(terminal, json ? toJson({ removed }) : textOf(removed))
}

function textOf(removed: number): string {
  return `Removed ${removed.toLocaleString('en')} ${removed === 1 ? 'saga' : 'sagas'}`
}
