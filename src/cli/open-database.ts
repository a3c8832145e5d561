import type { Config } from '../config/index.js'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../database/index.js'

export interface Database {
  url: string
  /** Absent when DATABASE_URL names a server that is not ours. */
  embedded: EmbeddedPostgres | undefined
}

/** The database that the configuration asks for: the one of DATABASE_URL, or the embedded one, started now. */
export async function openDatabase({ databaseUrl, dataDir }: Config): Promise<Database> {
  if (databaseUrl !== undefined) return { url: databaseUrl, embedded: undefined }
  const embedded = await startEmbeddedPostgres({ dataDir })
  return { url: embedded.url, embedded }
}
