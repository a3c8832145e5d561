import type { Config } from '../config/index.js'
import type { EmbeddedPostgres } from '../database/index.js'

export interface Database {
  url: string
  /** Absent when the server is not ours to stop: that of DATABASE_URL, or one that another process runs. */
  embedded: EmbeddedPostgres | undefined
}

/** The database that the configuration asks for: the one of DATABASE_URL, or the embedded one, started now. */
export async function openDatabase({ databaseUrl, dataDir }: Config): Promise<Database> {
  if (databaseUrl !== undefined) return { url: databaseUrl, embedded: undefined }
  const { startEmbeddedPostgres } = await import('../database/index.js')
  const embedded = await startEmbeddedPostgres({ dataDir })
  return { url: embedded.url, embedded }
}

/** The same for a short visit: beside a `sagapost dev` that runs on the embedded one, its server is used. */
export async function visitDatabase(config: Config): Promise<Database> {
  const { findRunningServer } = await import('../database/index.js')
  const running = config.databaseUrl ? undefined : await findRunningServer(config.dataDir)
  return running ? { url: running, embedded: undefined } : openDatabase(config)
}
