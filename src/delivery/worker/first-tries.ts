/**
 * So many requests to endpoints that were never tried may wait for their answer together, at least. A handshake takes
 * some milliseconds of this process: with so many a worker's other answers wait for a twentieth of a second at most.
 */
export const AT_ONCE_MIN = 25
/** One without an answer for so long leaves its place to the next: those that hang are begun AT_ONCE_MIN in this time. */
export const SILENT_MS = 100

/** So many begin before others' answers are read. */
export const PER_TURN = 5

/** How many may wait together after one was answered, and after one was silent. */
export const afterAnswer = (atOnce: number, atOnceMax: number): number => Math.min(atOnce + 1, atOnceMax)
export const afterSilence = (atOnce: number): number => Math.max(Math.floor(atOnce / 2), AT_ONCE_MIN)

/**
 * When the next endpoint may be tried for the first time: as soon as others have answered, so that thousands of healthy
 * ones are through at the rate of their answers, and hundreds that hang do not shake hands all at once.
 */
export interface FirstTries {
  mayBegin(): boolean
  begun(subscriptionId: string): void
  /** A request has ended, of whichever endpoint. */
  ended(subscriptionId: string): void
  /** How many wait for their answer. */
  waiting(): number
  stop(): void
}

/** `onFree` is called when another may begin. */
export function createFirstTries(most: number, onFree: () => void): FirstTries {
  const atOnceMax = Math.max(most, AT_ONCE_MIN)
  const waiting = new Map<string, NodeJS.Timeout>()
  let atOnce = AT_ONCE_MIN
  let turn: NodeJS.Immediate | undefined
  let begunInTurn = 0
  return {
    mayBegin: () => begunInTurn < PER_TURN && waiting.size < atOnce,
    begun(id) {
      const isSilent = () => {
        waiting.delete(id)
        atOnce = afterSilence(atOnce)
        onFree()
      }
      waiting.set(id, setTimeout(isSilent, SILENT_MS))
      begunInTurn += 1
      turn ??= setImmediate(() => {
        turn = undefined
        begunInTurn = 0
        onFree()
      })
    },
    ended(id) {
      const silence = waiting.get(id)
      if (silence === undefined) return
      clearTimeout(silence)
      waiting.delete(id)
      atOnce = afterAnswer(atOnce, atOnceMax)
    },
    waiting: () => waiting.size,
    stop() {
      clearImmediate(turn)
      for (const silence of waiting.values()) clearTimeout(silence)
    },
  }
}
