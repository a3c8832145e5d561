import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient, type SagapostClient } from '../client/index.js'
import { readConfig } from '../config/index.js'
import { SagapostError } from '../errors/index.js'
import { findDevServer } from './dev-server.js'

export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_URL = 'http://127.0.0.1:8080'
/** Short, because a user at a terminal waits: an unreachable server is reported soon. */
const RETRIES = 2
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * A client of the server at SAGAPOST_URL, with SAGAPOST_API_KEY; by default, of the `sagapost dev` that runs on the data
 * directory, with its key.
 */
export async function connectApi(env: Environment): Promise<SagapostClient> {
  const { dataDir, apiKey: givenKey } = readConfig(env)
  const devUrl = await findDevServer(dataDir)
  const baseUrl = env['SAGAPOST_URL'] || devUrl || DEFAULT_URL
  const url = readUrl(baseUrl)
  const apiKey = givenKey ?? (await readDevKey(env, { dataDir, devUrl, url }))
  try {
    return createClient({ baseUrl, apiKey, retries: RETRIES })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const message = error.message.replace('baseUrl', 'SAGAPOST_URL').replace('apiKey', 'SAGAPOST_API_KEY')
    throw new SagapostError('config_invalid', message)
  }
}

function readUrl(text: string): URL {
  try {
    return new URL(text)
  } catch {
    throw new SagapostError(
      'config_invalid',
      `SAGAPOST_URL must be a URL like ${DEFAULT_URL}, not "${text.slice(0, 200)}"`,
    )
  }
}

interface DevServer {
  dataDir: string
  /** Absent when no `sagapost dev` runs. */
  devUrl: string | undefined
  /** The server that the request goes to. */
  url: URL
}

/** Sent only to the server that it belongs to: another program on this machine could listen on the port. */
async function readDevKey(env: Environment, { dataDir, devUrl, url }: DevServer): Promise<string> {
  if (!LOOPBACK.test(url.hostname)) {
    throw new SagapostError(
      'config_invalid',
      `SAGAPOST_API_KEY is not set; ${url.hostname} requires an API key`,
    )
  }
  const key = (await readFile(join(dataDir, 'api-key'), 'utf8').catch(() => '')).trim()
  if (key === '' || (devUrl === undefined && !env['SAGAPOST_URL'])) {
    throw new SagapostError(
      'config_invalid',
      `SAGAPOST_API_KEY is not set, and no sagapost dev is running for ${dataDir}; start one with npm start, or create a key with sagapost keys create`,
    )
  }
  if (devUrl !== undefined && new URL(devUrl).port !== url.port) {
    throw new SagapostError(
      'config_invalid',
      `SAGAPOST_API_KEY is not set; the key in ${dataDir} is for the sagapost dev at ${devUrl}, not for ${url.origin}`,
    )
  }
  return key
}
