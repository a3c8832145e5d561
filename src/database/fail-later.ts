import pg from 'pg'

/**
 * Clients for a pool that fail when they connect, never when they are made: `pg` reads the certificates that the URL names
 * in its constructor, and a pool makes clients where an error has no caller and would end the process.
 */
export function failLater(Client: typeof pg.Client): typeof pg.Client {
  function make(config: pg.ClientConfig): pg.Client {
    try {
      return new Client(config)
    } catch (error) {
      const failed = new pg.Client()
      const connect = (done: (error: unknown) => void) => process.nextTick(done, error)
      return Object.assign(failed, { connect })
    }
  }
  return make as unknown as typeof pg.Client
}
