import { setTimeout as pause } from 'node:timers/promises'
import type { SagapostClient } from '../client/index.js'
import { SagapostError } from '../errors/index.js'
import { isFinal, sagaMachine } from '../model/index.js'
import { describeEnd, drawBar, drawLine, type RequeueStand, toStand } from './describe-requeue.js'
import { print } from './print-list.js'
import { complain, type Terminal } from './terminal.js'
import { toJson } from './to-json.js'

const LOOK_MS = 500
/** The interval between lines in a pipe. */
const LINE_MS = 5_000
/** A requeue still unclaimed after this time causes a warning. */
const UNCLAIMED_MS = 5_000
const EXIT_NOT_COMPLETED = 1
const EXIT_LEFT = 130
const COLUMNS = 80
/** Returns to the first column and clears the line. */
const CLEAR_LINE = '\r\x1b[K'

/**
 * Shows the progress of a requeue by filter until it ends: a bar on a terminal, lines in a pipe, JSON lines with --json.
 * After Ctrl-C the requeue continues, and can be followed again.
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
    // Also while the server is unreachable: the requeue does not depend on this client.
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

/** A wrapped line could not be overwritten. The width is 0 on terminals that do not report it. */
function cutTo(line: string, columns: number | undefined): string {
  return line.slice(0, (columns || COLUMNS) - 1)
}
