import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseMasterKey } from '../config/index.js'

export const DEV_KEY_FILE = 'master-key'

/** The master key that `dev` creates by default, kept with the data that it protects for the next start. */
export async function devMasterKey(dataDir: string): Promise<Buffer> {
  const file = join(dataDir, DEV_KEY_FILE)
  const made = randomBytes(32).toString('base64')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFile(file, `${made}\n`, { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  return parseMasterKey(await readFile(file, 'utf8'))
}
