import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { makeCertificate } from '../../src/cli/make-certificate.js'
import { createRolePool, migrate } from '../../src/database/index.js'
import { createReceiverLog } from '../../test/support/receiver-log.js'
import { keyOf } from '../check/count-duplicates.js'
import { EFFECTS_TABLE } from '../load/define-sagas.js'
import {
  type Part,
  PROCESSES_OF_EACH_PART,
  PUBLISHER,
  parts,
  type ReceiverName,
  receiverNames,
} from '../schedule/fault.js'
import { marks } from '../schedule/marks.js'
import type { Schedule } from '../schedule/plan-schedule.js'
import type { FaultSystem } from './fault-system.js'
import { makeCluster, urlOf } from './make-cluster.js'
import { mountTmpfs, unmountTmpfs } from './mount-tmpfs.js'
import { type Link, openLink } from './open-link.js'
import { processEnvironment } from './process-environment.js'
import { type Arrival, type FaultReceiver, startFaultReceiver } from './start-receiver.js'
import { findFreePort, startServer } from './start-server.js'
import { subscribe } from './subscribe.js'
import { type SupervisedProcess, superviseProcess } from './supervise-process.js'
import { untilServing } from './until-serving.js'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const sagasProcess = fileURLToPath(new URL('../children/run-sagas.ts', import.meta.url))

/** Which of the receivers gets what. */
const subscriptions: readonly { receiver: ReceiverName; eventType: string; maxAttempts?: number }[] = [
  { receiver: 'first', eventType: 'fault.a' },
  { receiver: 'second', eventType: 'fault.a' },
  { receiver: 'third', eventType: 'fault.b' },
  { receiver: 'fourth', eventType: 'fault.c', maxAttempts: 3 },
]

/** Of the fourth receiver's events: so many are refused until it is mended, so many are refused once. */
const REFUSED_EVERY = 20
const BUSY_EVERY = 6

export interface SystemOptions {
  disk: Schedule['disk']
  /** Beside those of processEnvironment, or in their place. */
  settings?: Record<string, string>
  parts?: readonly Part[]
  processesOfEachPart?: number
  /** Whatever is started is handed in at once, and stopped in reverse order, however the run ends. */
  onStop: (stop: () => Promise<unknown>) => void
}

/** A PostgreSQL, its proxy, the receivers, and the parts as processes of their own. */
export async function openSystem(options: SystemOptions): Promise<FaultSystem> {
  const folder = await mkdtemp(join(tmpdir(), 'sagapost-faults-'))
  const stops: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const stop of stops.splice(0).reverse()) await stop().catch(() => {})
  }
  options.onStop(close)
  let kept = false
  stops.push(async () => {
    if (!kept) await rm(folder, { recursive: true, force: true })
  })
  const dataFolder = join(folder, 'data')
  const disk = options.disk === 'tmpfs' && (await mountTmpfs(dataFolder)) ? 'tmpfs' : 'disk'
  if (disk === 'tmpfs') stops.push(() => unmountTmpfs(dataFolder))
  const cluster = await makeCluster(join(dataFolder, 'first'), join(folder, 'postgres.log'))
  const server = await startServer(cluster, await findFreePort())
  stops.push(() => system.server.stop())
  await migrate({ databaseUrl: server.url })

  const certificate = await makeCertificate()
  const authorityFile = join(folder, 'authority.pem')
  await writeFile(authorityFile, certificate.certificateAuthority)
  const receivers = new Map<ReceiverName, FaultReceiver>()
  for (const name of receiverNames) {
    const receiver = await startFaultReceiver(certificate, (arrival) => noteArrival(system, arrival))
    receivers.set(name, receiver)
    stops.push(() => receiver.close())
  }
  const links = new Map<string, Link>()
  const open = async (name: string) => {
    const link = await openLink(() => system.server.port, textsOf(name))
    links.set(name, link)
    stops.push(() => link.close())
    return urlOf(cluster, link.port)
  }

  let serverIsFree: Promise<unknown> = Promise.resolve()
  const system: FaultSystem = {
    folder,
    disk,
    dataFolder,
    server,
    links,
    processes: new Map(),
    certificate,
    receivers,
    apiUrls: [],
    publisherUrl: await open(PUBLISHER),
    routes: [],
    log: createReceiverLog(),
    arrivals: new Map(),
    unreported: new Map(),
    workersKilled: [],
    orphans: [],
    published: new Map(),
    keys: new Map(),
    crashes: [],
    accepted: [],
    unexpectedEnds: [],
    mended: false,
    whileServerIsOurs(work) {
      const done = serverIsFree.then(work)
      serverIsFree = done.catch(() => {})
      return done
    },
    openDirect(role) {
      if (role)
        return createRolePool({
          databaseUrl: system.server.url,
          role,
          connectionsMax: 1,
          queryTimeoutMs: 120_000,
        })
      const pool = new pg.Pool({ connectionString: system.server.url, max: 2 })
      pool.on('error', () => {})
      pool.on('connect', (client) => client.on('error', () => {}))
      return pool
    },
    async close({ keep } = { keep: false }) {
      kept = keep
      const unclean: string[] = []
      await Promise.all(
        [...system.processes.values()].map(async (process) => {
          if (!(await process.stop())) unclean.push(process.name)
        }),
      )
      await close()
      return { unclean }
    },
  }
  await prepareDatabase(system, certificate.certificateAuthority)
  await startProcesses(system, { ...options, open, authorityFile, stops })
  return system
}

function noteArrival({ arrivals }: FaultSystem, arrival: Arrival): void {
  const key = keyOf(arrival)
  const known = arrivals.get(key)
  if (known) known.push(arrival.atMs)
  else arrivals.set(key, [arrival.atMs])
}

// The worker's name holds its process id.
const leasedBy = `
  SELECT id FROM sagapost.webhook_delivery_jobs WHERE status = 'Leased' AND worker_id LIKE '%-' || $1 || '-%'`

/** What PostgreSQL cannot tell at the moment is not waited for. */
function noteOrphans(system: FaultSystem, pid: number): void {
  const killedAtMs = Date.now()
  system.workersKilled.push(killedAtMs)
  const direct = system.openDirect()
  void direct
    .query<{ id: string }>(leasedBy, [pid])
    .then(({ rows }) => system.orphans.push({ killedAtMs, jobIds: rows.map(({ id }) => id) }))
    .catch(() => {})
    .finally(() => direct.end().catch(() => {}))
}

const UNREPORTED = /"msg":"(lease was lost; the result was refused|delivery was not reported)"/

function noteUnreported({ unreported }: FaultSystem, line: string): void {
  if (!UNREPORTED.test(line)) return
  const { event_id: eventId, subscription_id: subscriptionId, attempt } = JSON.parse(line)
  const key = keyOf({ eventId, subscriptionId, attempt })
  unreported.set(key, (unreported.get(key) ?? 0) + 1)
}

async function prepareDatabase(system: FaultSystem, authority: string): Promise<void> {
  const owner = system.openDirect()
  await owner.query(EFFECTS_TABLE)
  await owner.end()
  const admin = createRolePool({
    databaseUrl: system.server.url,
    role: 'subscription_admin',
    connectionsMax: 1,
  })
  const refusing = ({ eventId, attempt }: { eventId: string; attempt: number }) => {
    if (!system.mended && Number(eventId) % REFUSED_EVERY === 0) return 500
    return attempt === 1 && Number(eventId) % BUSY_EVERY === 0 ? 503 : 200
  }
  const routes: { eventType: string; subscriptionId: string }[] = []
  for (const { receiver: name, eventType, maxAttempts } of subscriptions) {
    const receiver = system.receivers.get(name) as FaultReceiver
    const subscriptionId = await subscribe({
      admin,
      receiver,
      authority,
      log: system.log,
      eventType,
      ...(maxAttempts && { maxAttempts }),
      ...(name === 'fourth' && { statusOf: refusing }),
    })
    routes.push({ eventType, subscriptionId })
  }
  await admin.end()
  Object.assign(system, { routes })
}

async function startProcesses(
  system: FaultSystem,
  options: SystemOptions & {
    open: (name: string) => Promise<string>
    authorityFile: string
    stops: (() => Promise<unknown>)[]
  },
): Promise<void> {
  const processes = new Map<string, SupervisedProcess>()
  const apiUrls: string[] = []
  const { parts: wanted = parts, processesOfEachPart = PROCESSES_OF_EACH_PART } = options
  for (const part of wanted) {
    for (let number = 1; number <= processesOfEachPart; number++) {
      const name = `${part}-${number}`
      const env = {
        ...processEnvironment(await options.open(name), options.authorityFile),
        ...options.settings,
      }
      if (part === 'api') {
        env['PORT'] = String(await findFreePort())
        apiUrls.push(`http://127.0.0.1:${env['PORT']}`)
      }
      const process = superviseProcess(
        { name, ...commandOf(part), env, folder: system.folder },
        {
          onUnexpectedEnd: (end) => system.unexpectedEnds.push(end),
          ...(part === 'worker' && {
            onKilled: (pid) => noteOrphans(system, pid),
            onLine: (line) => noteUnreported(system, line),
          }),
        },
      )
      processes.set(name, process)
      options.stops.push(() => process.stop())
    }
  }
  Object.assign(system, { processes, apiUrls })
  await untilServing(system)
}

/** The statements that a process may be killed at. */
function textsOf(name: string): string[] {
  return Object.values(marks)
    .filter(({ of }) => name.startsWith(of))
    .map(({ text }) => text)
}

/** The part `sagas` with definitions of its own runs in an application; all others as `serve` runs them. */
function commandOf(part: Part): { args: readonly string[]; nodeOptions?: readonly string[] } {
  return part === 'sagas'
    ? { args: [sagasProcess], nodeOptions: ['--import', import.meta.resolve('tsx')] }
    : { args: [main, 'serve', '--only', part] }
}
