import { execFile } from 'node:child_process'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import type { FaultCluster } from './make-cluster.js'

const run = promisify(execFile)

/** tar's own word for files that changed or went while it read them, as they may: the WAL puts that right. */
const CHANGED = 1

const copy = `
  tar --create --directory "$1" --exclude './pg_wal/*' --exclude ./postmaster.pid --exclude ./postmaster.opts \
    --warning=no-file-changed --warning=no-file-removed --file - . | tar --extract --preserve-permissions --directory "$2" --file -
  exit "\${PIPESTATUS[0]}"`

/** A base backup by hand, since the embedded package has no pg_basebackup. The copy starts as a standby. */
export async function copyCluster(
  direct: pg.Pool,
  from: FaultCluster,
  dataDir: string,
): Promise<FaultCluster> {
  const clusterDir = join(dataDir, 'postgres')
  await mkdir(clusterDir, { recursive: true, mode: 0o700 })
  const client = await direct.connect()
  try {
    await client.query(`SELECT pg_backup_start('faults', true)`)
    await run('bash', ['-c', copy, 'bash', from.clusterDir, clusterDir]).catch((error: { code?: number }) => {
      if (error.code !== CHANGED) throw error
    })
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    await writeFile(join(clusterDir, 'backup_label'), rows[0]?.labelfile ?? '')
  } finally {
    client.release()
  }
  await writeFile(join(clusterDir, 'standby.signal'), '')
  const { account } = from
  if (account) {
    const owned = ['', 'pg_wal', 'backup_label', 'standby.signal']
    for (const name of owned) await chown(join(clusterDir, name), account.uid, account.gid)
  }
  return { ...from, dataDir, clusterDir }
}
