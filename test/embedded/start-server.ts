import { onTestFinished } from 'vitest'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/database/embedded/index.js'

/** Starts a server in this process; it is stopped when the test ends. */
export async function startServer(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(options)
  onTestFinished(() => server.stop())
  return server
}
