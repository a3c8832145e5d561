import pg from 'pg'

/**
 * Clients for a pool that fail when they connect instead of when they are constructed: `pg` reads the certificates that
 * the URL names in its constructor, and an error there has no caller in a pool and would end the process.
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
