import { abandonConnection } from './abandon-connection.js'
import { GuardedClient } from './guarded-client.js'
import { isReadTimeout } from './outage.js'

type Callback = (error: Error | null | undefined, result?: unknown) => void

/** A connection whose statement time-outs also cancel the statement on the server. */
export class RoleClient extends GuardedClient {
  /** Called for every failed statement. */
  onFailed: (error: Error) => void = () => {}

  // biome-ignore lint/suspicious/noExplicitAny: pg.Client's own overloads
  override query(statement: any, values?: any, callback?: any): any {
    const [parameters, done] = typeof values === 'function' ? [undefined, values] : [values, callback]
    if (typeof done === 'function') {
      const heard: Callback = (error, result) => {
        if (error) this.#failed(error)
        done(error, result)
      }
      return super.query(statement, parameters, heard)
    }
    const answer = super.query(statement, parameters) as unknown as Promise<unknown>
    answer.catch((error: Error) => this.#failed(error))
    return answer
  }

  #failed(error: Error): void {
    if (isReadTimeout(error)) void abandonConnection(this)
    this.onFailed(error)
  }
}
