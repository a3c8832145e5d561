import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { SagapostError } from '../errors/index.js'
import type { TerminalSnapshot } from './snapshot-terminals.js'

const TITLE = 'sagapost final rows'
const LINES_PER_WRITE = 10_000

/** Reads what `writeHashes` wrote; nothing when there is no such file yet. */
export async function readHashes(file: string): Promise<TerminalSnapshot | undefined> {
  const rows = new Map<string, { eventId: bigint; hash: string }>()
  let firstEventId: bigint | undefined
  try {
    for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
      const fields = line.split('\t')
      if (firstEventId === undefined) {
        if (fields.length !== 2 || fields[0] !== TITLE) throw unreadable(file)
        firstEventId = BigInt(fields[1] as string)
      } else {
        const [id, eventId, hash] = fields
        if (fields.length !== 3) throw unreadable(file)
        rows.set(id as string, { eventId: BigInt(eventId as string), hash: hash as string })
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    if (error instanceof SyntaxError) throw unreadable(file)
    throw error
  }
  if (firstEventId === undefined) throw unreadable(file)
  return { firstEventId, rows }
}

/** Writes atomically: an interrupted run keeps the previous file. */
export async function writeHashes(file: string, { firstEventId, rows }: TerminalSnapshot): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString('hex')}`
  try {
    const target = await open(draft, 'wx', 0o600)
    try {
      let lines = [`${TITLE}\t${firstEventId}`]
      for (const [id, { eventId, hash }] of rows) {
        lines.push(`${id}\t${eventId}\t${hash}`)
        if (lines.length < LINES_PER_WRITE) continue
        await target.write(`${lines.join('\n')}\n`)
        lines = []
      }
      if (lines.length > 0) await target.write(`${lines.join('\n')}\n`)
      await target.sync()
    } finally {
      await target.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

function unreadable(file: string): SagapostError {
  return new SagapostError('config_invalid', `${file} was not written by sagapost doctor --hashes`)
}
