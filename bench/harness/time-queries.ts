import pg from 'pg'

/** Times every run of one statement in this process, from the call to the answer. */
export function timeQueries(statement: string): { take(): number[] } {
  let times: number[] = []
  const { query } = pg.Client.prototype
  const timed = function (this: pg.Client, ...args: unknown[]) {
    const callback = args.at(-1)
    const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text?: string }).text
    if (text !== statement || typeof callback !== 'function') return Reflect.apply(query, this, args)
    const startedAt = performance.now()
    args[args.length - 1] = (...answer: unknown[]) => {
      times.push(performance.now() - startedAt)
      callback(...answer)
    }
    return Reflect.apply(query, this, args)
  }
  pg.Client.prototype.query = timed as typeof query
  return {
    take() {
      const taken = times
      times = []
      return taken
    },
  }
}
