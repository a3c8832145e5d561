/**
 * At least this many first requests to untried endpoints may be in flight. A handshake takes some milliseconds of this
 * process, so this many delay a worker's other answers by a twentieth of a second at most.
 */
export const AT_ONCE_MIN = 25
/**
 * A first request without an answer for this long gives up its place: endpoints that hang are tried at a rate of
 * AT_ONCE_MIN per this time.
 */
export const SILENT_MS = 100

/** First requests started before other answers are read. */
export const PER_TURN = 5

/** How many first requests may be in flight after one was answered, and after one stayed silent. */
export const afterAnswer = (atOnce: number, atOnceMax: number): number => Math.min(atOnce + 1, atOnceMax)
export const afterSilence = (atOnce: number): number => Math.max(Math.floor(atOnce / 2), AT_ONCE_MIN)

/**
 * Limits first requests to untried endpoints: the limit grows with each answer, so that thousands of healthy endpoints
 * pass at the rate of their answers, while hundreds that hang do not all shake hands at once.
 */
export interface FirstTries {
  mayBegin(): boolean
  begun(subscriptionId: string): void
  /** Records that a request has ended, to any endpoint. */
  ended(subscriptionId: string): void
  /** How many first requests await an answer and are not yet silent. */
  waiting(): number
  stop(): void
}

/** `onFree` is called when another first request may start. */
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
