import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { memoryMb } from '../../bench/harness/read-usage.js'
import { type Percentiles, percentiles } from '../../bench/harness/summarise-samples.js'
import { createRolePool } from '../../src/database/index.js'
import { createSecretBox, createSubscription, verifySubscription } from '../../src/subscriptions/index.js'
import { createWebhookSender } from '../../src/webhook/index.js'
import { currentCommit } from '../result-line.js'
import type { Run } from '../run-schedules.js'
import type { FaultSystem } from '../system/fault-system.js'
import { openSystem } from '../system/open-system.js'
import { API_KEY, LOOPBACK, masterKey } from '../system/process-environment.js'

const WAYS = ['hang', 'drip', 'flood', 'reset'] as const
const HOSTILE = 1_000
const SUBSCRIBERS_AT_ONCE = 8
const typeOf = (n: number) => `hostile.${n}`
const HEALTHY_TYPE = 'fault.b'
/** Healthy events, in each phase. */
const PER_SECOND = 50
const COUNT = 2_000
const WARM_UP = 300
/** Each hostile endpoint has an event of its own in every half minute, and the retries of those before: none ever rests. Alone, the healthy one gets them. */
const HOSTILE_EVERY_MS = 30
const SAMPLE_MS = 500
/** What has not come by then is counted as this late. */
const LATE_MS_MAX = 60_000

/** The defaults of docs/reference/configuration.md in the place of the harness's short times. */
const defaults = {
  SAGAPOST_REQUEST_TIMEOUT: '10s',
  SAGAPOST_LEASE_DURATION: '60s',
  SAGAPOST_RETRY_BASE_DELAY: '30s',
  SAGAPOST_RETRY_MAX_DELAY: '1h',
  SAGAPOST_RETRY_LIMIT: '5',
}

export interface HostileLine {
  kind: 'hostile'
  commit: string
  at: string
  receivers: number
  alone: HostilePhase
  /** All of them get their first event at once. */
  burst: HostilePhase
  /** Each of them has been tried. */
  later: HostilePhase
  hostileRequests: number
  /** Of all events, in the first phase and in the others. Runs that do not say so had fewer in the first. */
  perSecond?: { alone: number; beside: number }
}

interface HostilePhase {
  /** Healthy deliveries, from the acknowledgement to the arrival. */
  latencyMs: Percentiles
  /** The peak of the worker's resident memory. */
  memoryMb: number
}

/** What a thousand hostile endpoints do to the deliveries of a healthy one, and to the worker's memory. */
export async function runHostile({ say, onStop }: Run): Promise<HostileLine> {
  const system = await openSystem({
    disk: 'disk',
    onStop,
    settings: defaults,
    parts: ['api', 'router', 'orchestrator', 'worker', 'cleaner'],
    processesOfEachPart: 1,
  })
  const hostile = await startHostile(system)
  onStop(async () => hostile.child.kill('SIGKILL'))
  const memory = watchMemory(system)
  const measure = async (what: string): Promise<HostilePhase> => {
    say(`${COUNT} healthy events at ${PER_SECOND}/s, ${what}`)
    memory.takePeak()
    const latencyMs = percentiles(await publishAndTime(system, COUNT))
    return { latencyMs, memoryMb: memory.takePeak() }
  }
  await publishAndTime(system, WARM_UP)
  // As many events as later, so that what differs is who receives them.
  const stirringHealthy = stir(system, () => HEALTHY_TYPE)
  const alone = await measure('alone')
  await stirringHealthy.stop()

  say(`subscribing ${HOSTILE} hostile receivers`)
  await subscribeHostile(system, hostile.url)
  const everyone = Array.from({ length: HOSTILE }, (_, n) => `{"type":"${typeOf(n)}","payload":{}}`)
  await postAll(system, everyone)
  const stirring = stir(system, (n) => typeOf(n % HOSTILE))
  const burst = await measure('beside their first events')
  while ((await hostile.requests()) < HOSTILE) await sleep(SAMPLE_MS)
  const later = await measure('when each has been tried')
  await stirring.stop()
  memory.stop()
  const hostileRequests = await hostile.requests()
  const perSecond = Math.round(PER_SECOND + 1_000 / HOSTILE_EVERY_MS)
  hostile.child.kill('SIGKILL')
  await system.close()
  return {
    kind: 'hostile',
    commit: currentCommit(),
    at: new Date().toISOString(),
    receivers: HOSTILE,
    alone,
    burst,
    later,
    hostileRequests,
    perSecond: { alone: perSecond, beside: perSecond },
  }
}

/** Events beside those that are timed, until it is stopped. */
function stir(system: FaultSystem, typeAt: (n: number) => string) {
  let running = true
  const done = (async () => {
    for (let n = 0; running; n++) {
      await post(system, typeAt(n), '{"hostile":true}')
      await sleep(HOSTILE_EVERY_MS)
    }
  })()
  return {
    async stop() {
      running = false
      await done
    },
  }
}

async function startHostile(system: FaultSystem) {
  const { certificate } = system
  const certificateFile = join(system.folder, 'hostile.pem')
  const keyFile = join(system.folder, 'hostile.key')
  await writeFile(certificateFile, certificate.certificate)
  await writeFile(keyFile, certificate.privateKey)
  const path = fileURLToPath(new URL('../children/hostile-receivers.ts', import.meta.url))
  const child: ChildProcess = fork(path, [certificateFile, keyFile], {
    execArgv: ['--import', import.meta.resolve('tsx')],
  })
  const [{ port }] = await once(child, 'message')
  return {
    child,
    url: `https://127.0.0.1:${port}`,
    async requests(): Promise<number> {
      const answer = once(child, 'message')
      child.send('requests')
      return (await answer)[0].requests
    },
  }
}

async function subscribeHostile(system: FaultSystem, url: string): Promise<void> {
  const admin = createRolePool({
    databaseUrl: system.server.url,
    role: 'subscription_admin',
    connectionsMax: SUBSCRIBERS_AT_ONCE,
  })
  const sender = createWebhookSender({
    requestTimeoutMs: 10_000,
    allowedCidrs: [LOOPBACK],
    extraCertificateAuthorities: [system.certificate.certificateAuthority],
  })
  const box = createSecretBox(masterKey)
  let next = 0
  const work = async () => {
    while (next < HOSTILE) {
      const n = next++
      const callbackUrl = `${url}/${WAYS[n % WAYS.length]}/${n}`
      const { subscription } = await createSubscription(
        admin,
        { eventType: typeOf(n), callbackUrl },
        { box, allowedCidrs: [LOOPBACK] },
      )
      const outcome = await verifySubscription(admin, subscription.id, { box, sender })
      if (!outcome?.verified) throw new Error(`${callbackUrl} was not verified`)
    }
  }
  await Promise.all(Array.from({ length: SUBSCRIBERS_AT_ONCE }, work))
  await Promise.all([admin.end(), sender.close()])
}

const agent = new Agent()

async function post(system: FaultSystem, type: string, payload: string): Promise<string> {
  const answer = await send(system, '/v1/events', `{"type":"${type}","payload":${payload}}`)
  return answer.id
}

async function postAll(system: FaultSystem, events: readonly string[]): Promise<void> {
  await send(system, '/v1/events/batch', `{"events":[${events.join()}]}`)
}

async function send(system: FaultSystem, path: string, json: string): Promise<{ id: string }> {
  const { statusCode, body } = await request(`${system.apiUrls[0]}${path}`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: json,
  })
  const answer = JSON.parse(await body.text())
  if (statusCode !== 202) throw new Error(`${statusCode}: ${answer.detail}`)
  return answer
}

/** At random times, so that no loop's period is met. An event that has not come after a while counts as long as that. */
async function publishAndTime(system: FaultSystem, count: number): Promise<number[]> {
  const healthy = system.routes.find(({ eventType }) => eventType === HEALTHY_TYPE)
  const acknowledged: { id: string; atMs: number }[] = []
  const posts: Promise<unknown>[] = []
  let dueMs = performance.now()
  for (let n = 0; n < count; n++) {
    dueMs += (-Math.log(1 - Math.random()) * 1_000) / PER_SECOND
    const waitMs = dueMs - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    posts.push(
      post(system, HEALTHY_TYPE, `{"n":${n}}`).then((id) => acknowledged.push({ id, atMs: Date.now() })),
    )
  }
  await Promise.all(posts)
  const arrivalOf = (id: string) => system.arrivals.get(`${id} ${healthy?.subscriptionId} 1`)?.[0]
  const deadline = performance.now() + LATE_MS_MAX
  while (performance.now() < deadline && acknowledged.some(({ id }) => arrivalOf(id) === undefined))
    await sleep(100)
  return acknowledged.map(({ id, atMs }) => Math.max(0, (arrivalOf(id) ?? Date.now()) - atMs))
}

function watchMemory(system: FaultSystem) {
  let peak = 0
  const timer = setInterval(() => {
    const pid = system.processes.get('worker-1')?.pid()
    if (pid !== undefined) peak = Math.max(peak, memoryMb(pid)?.now ?? 0)
  }, SAMPLE_MS)
  return {
    takePeak() {
      const taken = Math.round(peak)
      peak = 0
      return taken
    },
    stop: () => clearInterval(timer),
  }
}
