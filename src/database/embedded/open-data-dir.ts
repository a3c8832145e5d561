import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SagapostError } from '../../errors/index.js'
import { ownerFilePattern } from './take-ownership.js'

const markerName = 'sagapost.json'
const markerFormat = 1
const noticed = /^lost\+found$|^sagapost\.json\.new$/

/** Makes the directory if need be, and refuses one that holds anything of somebody else. Writes nothing. */
export async function openDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const names = await readdir(dataDir)
  if (names.includes(markerName)) return checkMarker(dataDir)
  const foreign = names.find((name) => !ownerFilePattern.test(name) && !noticed.test(name))
  if (foreign !== undefined) {
    throw new SagapostError(
      'data_dir_not_ours',
      `The data directory ${dataDir} was not made by Sagapost: it has no ${markerName} but holds ${foreign}; name an empty or a new folder`,
    )
  }
}

/** Marks the directory as ours. Only its owner may call this. */
export async function writeMarker(dataDir: string): Promise<void> {
  if ((await readdir(dataDir)).includes(markerName)) return
  const marker = { format: markerFormat, createdAt: new Date().toISOString() }
  const scratch = join(dataDir, `${markerName}.new`)
  await writeFile(scratch, `${JSON.stringify(marker)}\n`, { flush: true })
  await rename(scratch, join(dataDir, markerName))
}

async function checkMarker(dataDir: string): Promise<void> {
  const file = join(dataDir, markerName)
  const text = await readFile(file, 'utf8')
  let format: unknown
  try {
    format = (JSON.parse(text) as { format?: unknown } | null)?.format
  } catch {
    format = undefined
  }
  if (typeof format !== 'number') {
    throw new SagapostError('data_dir_not_ours', `${file} was not written by Sagapost: it names no format`)
  }
  if (format > markerFormat) {
    throw new SagapostError(
      'data_dir_newer',
      `The data directory ${dataDir} was made by a newer Sagapost: format ${format}, this one knows ${markerFormat}; use the newer release`,
    )
  }
}
