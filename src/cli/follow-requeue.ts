import { setTimeout as pause } from 'node:timers/promises'
import type { SagapostClient } from '../client/index.js'
import { SagapostError } from '../errors/index.js'
import { isFinal, sagaMachine } from '../model/index.js'
import { describeEnd, drawBar, drawLine, type RequeueStand, toStand } from './describe-requeue.js'
import { print } from './print-list.js'
import { complain, type Terminal } from './terminal.js'
import { toJson } from './to-json.js'

const LOOK_MS = 500
/** Lines in a pipe are for a log. */
const LINE_MS = 5_000
/** Nobody runs it: something may be missing. */
const UNCLAIMED_MS = 5_000
const EXIT_NOT_COMPLETED = 1
const EXIT_LEFT = 130
const COLUMNS = 80
/** Back to the first column, and everything behind it away. */
const CLEAR_LINE = '\r\x1b[K'

/**
 * Shows how a requeue by filter goes until it ends: a bar on a terminal, lines in a pipe, JSON lines with --json. Ctrl-C
 * leaves it; the requeue goes on, and can be joined again.
 */
export async function followRequeue(
  terminal: Terminal,
  client: SagapostClient,
  sagaId: string,
  { json }: { json?: true | undefined } = {},
): Promise<void> {
  const { stdout } = terminal
  const left = new AbortController()
  const leave = () => left.abort()
  process.once('SIGINT', leave)
  const bar = json !== true && stdout.isTTY === true
  const startedAtMs = performance.now()
  let first: { remaining: number; atMs: number } | undefined
  let shown = { text: '', atMs: Number.NEGATIVE_INFINITY }
  let warned = false

  const show = async (stand: RequeueStand): Promise<void> => {
    const nowMs = performance.now()
    first ??= { remaining: stand.remaining, atMs: nowMs }
    const start = { remaining: first.remaining, elapsedMs: nowMs - first.atMs }
    if (bar) {
      stdout.write(CLEAR_LINE + cutTo(drawBar(stand, start), stdout.columns))
      return
    }
    const text = json ? toJson(stand) : drawLine(stand, start)
    if (text === shown.text || nowMs - shown.atMs < LINE_MS) return
    shown = { text, atMs: nowMs }
    await print(terminal, text)
  }

  try {
    if (bar) await print(terminal, 'Press Ctrl-C to stop following; the requeue continues')
    for (;;) {
      const saga = await client.sagas.get(sagaId, { signal: left.signal })
      const stand = toStand(saga)
      if (stand === undefined) {
        throw new SagapostError('saga_not_found', `Saga ${sagaId} is not a requeue of dead letters`)
      }
      if (isFinal(sagaMachine, stand.state) || stand.state === 'Failed') {
        if (bar) stdout.write(CLEAR_LINE)
        await print(terminal, json ? toJson(stand) : describeEnd(stand))
        if (stand.state !== 'Completed') terminal.exitCode = EXIT_NOT_COMPLETED
        return
      }
      await show(stand)
      if (!warned && stand.state === 'Pending' && performance.now() - startedAtMs > UNCLAIMED_MS) {
        warned = true
        complain(
          terminal,
          `${bar ? CLEAR_LINE : ''}The requeue has not started: check that a process runs the part sagas`,
        )
      }
      await pause(LOOK_MS, undefined, { signal: left.signal })
    }
  } catch (error) {
    if (bar) stdout.write('\n')
    // Also when the server is away for the moment: the requeue does not depend on whoever looks.
    if (first) {
      complain(
        terminal,
        `The requeue continues. Follow it again:  sagapost dead-letters requeue --follow ${sagaId}`,
      )
      complain(terminal, `Cancel it:  sagapost sagas cancel ${sagaId} --why '…'`)
    }
    if (!left.signal.aborted) throw error
    terminal.exitCode = EXIT_LEFT
  } finally {
    process.removeListener('SIGINT', leave)
  }
}

/** A line that breaks could not be written over. Some terminals do not know their width: then it is 0. */
function cutTo(line: string, columns: number | undefined): string {
  return line.slice(0, (columns || COLUMNS) - 1)
}
