import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generateKey } from '../api-keys/index.js'

/** The administrator's key that `dev` creates by default, kept in its data directory for the next start. */
export async function devApiKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'api-key')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFile(file, `${generateKey()}\n`, { mode: 0o600, flag: 'wx' }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
  return (await readFile(file, 'utf8')).trim()
}
