import type { Socket } from 'node:net'
import { abandonConnection } from './abandon-connection.js'
import { GuardedClient } from './guarded-client.js'
import { isReadTimeout } from './outage.js'

/** A server that does not answer does not say goodbye either. */
const GOODBYE_MS_MAX = 1_000

type Callback = (error: Error | null | undefined, result?: unknown) => void

/** A connection whose time-outs end what they give up, on the server as well. */
export class RoleClient extends GuardedClient {
  /** A statement failed, for whatever reason. */
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

  // biome-ignore lint/suspicious/noExplicitAny: pg.Client's own overloads
  override end(callback?: any): any {
    const { connection } = this as unknown as { connection: { stream: Socket } }
    const timer = setTimeout(() => connection.stream.destroy(), GOODBYE_MS_MAX).unref()
    this.once('end', () => clearTimeout(timer))
    return callback ? super.end(callback) : super.end()
  }

  #failed(error: Error): void {
    if (isReadTimeout(error)) void abandonConnection(this)
    this.onFailed(error)
  }
}
