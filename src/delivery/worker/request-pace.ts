/** Starts one request at a time, with a pause before the next. */
export interface RequestPace {
  mayBegin(): boolean
  begun(pauseMs: number): void
  stop(): void
}

/** `onFree` is called when the pause is over. */
export function createRequestPace(onFree: () => void): RequestPace {
  let timer: NodeJS.Timeout | undefined
  let turn: NodeJS.Immediate | undefined
  const stop = () => {
    clearTimeout(timer)
    clearImmediate(turn)
  }
  const end = () => {
    timer = undefined
    onFree()
  }
  return {
    mayBegin: () => timer === undefined,
    begun(pauseMs) {
      stop()
      // An expired timer runs before pending answers are read; they must be read before the next start.
      timer = setTimeout(() => {
        turn = setImmediate(end)
      }, pauseMs)
    },
    stop,
  }
}
