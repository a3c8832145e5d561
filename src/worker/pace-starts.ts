/** Lets one thing begin at a time, with a pause before the next. */
export interface Pace {
  mayBegin(): boolean
  begun(pauseMs: number): void
  stop(): void
}

/** `onFree` is called when the pause is over. */
export function paceStarts(onFree: () => void): Pace {
  let timer: NodeJS.Timeout | undefined
  return {
    mayBegin: () => timer === undefined,
    begun(pauseMs) {
      clearTimeout(timer)
      timer = setTimeout(() => {
        timer = undefined
        onFree()
      }, pauseMs)
    },
    stop: () => clearTimeout(timer),
  }
}
