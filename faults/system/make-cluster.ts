import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { chooseAccount } from '../../src/database/embedded/choose-account.js'
import { type Cluster, initialiseCluster } from '../../src/database/embedded/initialise-cluster.js'
import { locateBinaries } from '../../src/database/embedded/locate-binaries.js'
import { prepareBinaries } from '../../src/database/embedded/prepare-binaries.js'

export interface FaultCluster extends Cluster {
  password: string
  /** Not in the data directory: it must be readable when the disk is full. */
  logFile: string
}

/** A new data directory, durable as a real one: what a crash may lose is PostgreSQL's to say. */
export async function makeCluster(dataDir: string, logFile: string): Promise<FaultCluster> {
  await mkdir(dataDir, { recursive: true, mode: 0o755 })
  const clusterDir = join(dataDir, 'postgres')
  const account = await chooseAccount(clusterDir)
  const binaries = await prepareBinaries(locateBinaries(), account, undefined)
  const cluster: Cluster = { dataDir, clusterDir, binaries, account, durable: true }
  return { ...cluster, password: await initialiseCluster(cluster), logFile }
}

export function urlOf(cluster: FaultCluster, port: number): string {
  return `postgres://sagapost:${cluster.password}@127.0.0.1:${port}/sagapost`
}
