import type pg from 'pg'
import type { ServerCertificate } from '../../src/cli/make-certificate.js'
import type { ReceiverLog } from '../../test/support/receiver-log.js'
import type { ReceiverName } from '../schedule/fault.js'
import type { Link } from './open-link.js'
import type { FaultReceiver } from './start-receiver.js'
import type { Server } from './start-server.js'
import type { SupervisedProcess, UnexpectedEnd } from './supervise-process.js'

/** A time in which PostgreSQL may have forgotten what it had not yet put on its disk. */
export interface Crash {
  fromMs: number
  toMs: number
}

/** Everything that is attacked, and what it is watched by. It lives on from schedule to schedule. */
export interface FaultSystem {
  folder: string
  /** Where the data directory lies. */
  disk: 'disk' | 'tmpfs'
  dataFolder: string
  /** The one that the proxy leads to; a promoted standby takes its place. */
  server: Server
  links: ReadonlyMap<string, Link>
  processes: ReadonlyMap<string, SupervisedProcess>
  /** Of every receiver; the processes trust its authority. */
  certificate: ServerCertificate
  receivers: ReadonlyMap<ReceiverName, FaultReceiver>
  apiUrls: readonly string[]
  /** The publishers' own connections, through the proxy. */
  publisherUrl: string
  routes: readonly { eventType: string; subscriptionId: string }[]
  log: ReceiverLog
  /** When the requests of an attempt came, by keyOf. */
  arrivals: Map<string, number[]>
  /** Reports that workers say were refused or never made, by keyOf. */
  unreported: Map<string, number>
  workersKilled: number[]
  /** The jobs that a killed worker had under lease. */
  orphans: { killedAtMs: number; jobIds: readonly string[] }[]
  /** Acknowledged events by id: the sha256 of the payload. */
  published: Map<string, string>
  /** The ids of acknowledged events by their key. */
  keys: Map<string, string>
  crashes: Crash[]
  /** When PostgreSQL took connections again, in the schedule that runs. */
  accepted: number[]
  unexpectedEnds: UnexpectedEnd[]
  /** False: the fourth receiver refuses some events for good. */
  mended: boolean
  /** One fault of the server at a time. */
  whileServerIsOurs<Result>(work: () => Promise<Result>): Promise<Result>
  /** A pool past the proxy, to the server of the moment. */
  openDirect(role?: 'saga_readonly_role'): pg.Pool
  /** Names the processes that did not stop by themselves, with 0. `keep`: its folder stays, with all logs. */
  close(options?: { keep: boolean }): Promise<{ unclean: string[] }>
}
