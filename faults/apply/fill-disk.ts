import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultSystem } from '../system/fault-system.js'
import { untilAccepting } from '../system/start-server.js'
import type { FaultOutcome } from './apply-fault.js'
import { restartServer } from './crash-postgres.js'

const BLOCK = Buffer.alloc(1_024 * 1_024)
const SMALL_BLOCK = 4_096
/** What PostgreSQL frees meanwhile is taken as well. */
const AGAIN_MS = 50

/** Fills PGDATA to the last byte. PostgreSQL may stop; the caller frees the disk and restarts it. */
export async function fillDisk(system: FaultSystem, lengthMs: number): Promise<FaultOutcome> {
  if (system.disk !== 'tmpfs') return { ran: false, why: 'no tmpfs could be mounted' }
  const file = join(system.dataFolder, 'filler')
  const filler = openSync(file, 'w')
  const fromMs = Date.now()
  try {
    const until = performance.now() + lengthMs
    do {
      fill(filler)
      await sleep(AGAIN_MS)
    } while (performance.now() < until)
  } finally {
    closeSync(filler)
    rmSync(file)
  }
  if (system.server.hasEnded()) await restartServer(system)
  else {
    try {
      system.accepted.push(await untilAccepting(system.server))
    } catch {
      await restartServer(system)
    }
  }
  system.crashes.push({ fromMs, toMs: Date.now() })
  return { ran: true }
}

function fill(file: number): void {
  for (let size = BLOCK.length; size >= SMALL_BLOCK; ) {
    try {
      writeSync(file, BLOCK, 0, size)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      size /= 2
    }
  }
}
