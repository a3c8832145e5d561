import { SagapostError } from '../errors/index.js'

export interface Config {
  /** Absent: the embedded PostgreSQL in `dataDir`. */
  databaseUrl: string | undefined
  dataDir: string
  host: string
  port: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** The environment of DESIGN 7. A bad value stops the start with one clear line; empty means absent. */
export function readConfig(env: Environment): Config {
  return {
    databaseUrl: env['DATABASE_URL'] || undefined,
    dataDir: env['SAGAPOST_DATA_DIR'] || './.sagapost',
    host: env['HOST'] || '127.0.0.1',
    port: readPort(env),
  }
}

const PORT_MAX = 65_535

function readPort(env: Environment): number {
  const text = env['PORT'] || '8080'
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > PORT_MAX) {
    throw new SagapostError(
      'config_invalid',
      `PORT must be a whole number from 0 to ${PORT_MAX}, not "${text}"`,
    )
  }
  return port
}
