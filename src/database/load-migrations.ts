import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

/** The same relative path from src/database and from dist/database. */
export const migrationsFolder = new URL('../../migrations/', import.meta.url)

const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/

export interface Migration {
  version: number
  name: string
  file: string
  checksum: string
  sql: string
}

/** Reads the numbered files in order: 1, 2, 3, … without a gap. The checksum ignores the style of line endings. */
export async function loadMigrations(folder: URL): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file, index) => {
      const [, number, name] = FILE_NAME.exec(file) ?? []
      if (number === undefined || name === undefined || Number(number) !== index + 1) {
        throw new Error(
          `migrations/${file}: expected a name like ${String(index + 1).padStart(4, '0')}_what.sql`,
        )
      }
      const sql = (await readFile(new URL(file, folder), 'utf8')).replaceAll('\r\n', '\n')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { version: index + 1, name, file, checksum, sql }
    }),
  )
}
