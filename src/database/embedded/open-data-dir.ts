import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SagapostError } from '../../errors/index.js'
import { ownerFilePattern } from './take-ownership.js'

const markerName = 'sagapost.json'
const markerFormat = 1
/** `dev` keeps its master key there, even when the database is elsewhere; `listen` keeps its certificate there. */
const noticed =
  /^lost\+found$|^sagapost\.json\.new$|^(master|api)-key$|^listen-(ca|cert|key)\.pem(\.[0-9a-f]+\.new)?$/

/** Creates the directory if needed, and refuses one that contains files that are not ours. Writes nothing. */
export async function openDataDir(dataDir: string): Promise<void> {
  await makeFolders(dataDir)
  await refuseWritableByOthers(dataDir)
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

/** Creates one folder at a time: a recursive mkdir below /proc never returns in Node 20. */
async function makeFolders(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory()) return
  if (found === undefined && dirname(folder) !== folder) await makeFolders(dirname(folder))
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    // Another process may have created it first.
    if (error.code !== 'EEXIST' || found !== undefined) throw error
  })
}

/** A user who can put files there could also put links there, and we write a password and a log. */
async function refuseWritableByOthers(dataDir: string): Promise<void> {
  const { uid, mode } = await stat(dataDir)
  if (uid === process.getuid?.() && (mode & 0o002) === 0) return
  throw new SagapostError(
    'data_dir_unusable',
    uid === process.getuid?.()
      ? `The data directory ${dataDir} can be written to by every user: chmod o-w it, or name another`
      : `The data directory ${dataDir} belongs to another user (uid ${uid}): run Sagapost as that user, or name another`,
  )
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
