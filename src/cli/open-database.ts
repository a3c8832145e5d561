import type { Config } from '../config/index.js'
import type { EmbeddedPostgres } from '../database/index.js'

export interface Database {
  url: string
  /** Absent when this process did not start the server: with DATABASE_URL, or when another process runs it. */
  embedded: EmbeddedPostgres | undefined
}

/** The configured database: the one at DATABASE_URL, or the embedded one, which is started. */
export async function openDatabase({ databaseUrl, dataDir }: Config): Promise<Database> {
  if (databaseUrl !== undefined) return { url: databaseUrl, embedded: undefined }
  const { startEmbeddedPostgres } = await import('../database/index.js')
  const embedded = await startEmbeddedPostgres({ dataDir })
  return { url: embedded.url, embedded }
}

/** The same for short commands, which use the embedded server of a running `sagapost dev`. */
export async function visitDatabase(config: Config): Promise<Database> {
  const { findRunningServer } = await import('../database/index.js')
  const running = config.databaseUrl ? undefined : await findRunningServer(config.dataDir)
  return running ? { url: running, embedded: undefined } : openDatabase(config)
}
