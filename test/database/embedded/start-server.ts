import { onTestFinished } from 'vitest'
import type { EmbeddedPostgresOptions } from '../../../src/database/embedded/start-embedded-postgres.js'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/database/index.js'

/** Starts a server in this process; it is stopped when the test ends. */
export async function startServer(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(options)
  onTestFinished(() => server.stop())
  return server
}
