import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient, type SagapostClient } from '../client/index.js'
import { readConfig } from '../config/index.js'
import { SagapostError } from '../errors/index.js'

export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_URL = 'http://127.0.0.1:8080'
/** A person waits for the answer: better to say soon that nobody is there. */
const RETRIES = 2
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** A client of the server at SAGAPOST_URL, with SAGAPOST_API_KEY or the key that a `sagapost dev` here keeps. */
export async function connectApi(env: Environment): Promise<SagapostClient> {
  const baseUrl = env['SAGAPOST_URL'] || DEFAULT_URL
  const url = readUrl(baseUrl)
  const apiKey = env['SAGAPOST_API_KEY'] || (await readDevKey(env, url))
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

/** Only for a server on this machine: the key goes to nobody else. */
async function readDevKey(env: Environment, { hostname }: URL): Promise<string> {
  if (!LOOPBACK.test(hostname)) {
    throw new SagapostError('config_invalid', `SAGAPOST_API_KEY is not set; ${hostname} will want one`)
  }
  const file = join(readConfig(env).dataDir, 'api-key')
  const key = await readFile(file, 'utf8').catch(() => '')
  if (key.trim() !== '') return key.trim()
  throw new SagapostError(
    'config_invalid',
    `SAGAPOST_API_KEY is not set, and there is no ${file} of a sagapost dev; start one with npm start, or make a key with sagapost keys create`,
  )
}
