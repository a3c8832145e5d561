import type pg from 'pg'
import type { Logger } from 'pino'
import type { WorkWindow } from '../database/index.js'
import { type BreakerPolicy, startCleaner, startWorker } from '../delivery/index.js'
import { checkMasterKey, createSecretBox, readSigningSecrets } from '../subscriptions/index.js'
import { createWebhookSender, parseAllowedCidrs, type SigningSecret } from '../webhook/index.js'
import { masterKeyOf } from './master-key-of.js'
import type { PartContext } from './part-context.js'

/** A lost lease is noticed within this share of the lease. */
const CLEANER_SHARE = 0.1
const CLEANER_MS_MIN = 100

interface WorkerPartOptions {
  worker: boolean
  cleaner: boolean
  /** PEM, beside Node's own. */
  extraCertificateAuthorities: readonly string[] | undefined
  breakerPolicy: BreakerPolicy | undefined
}

/** The worker, the cleaner, or both, on the same connections under their role [J7]. */
export async function startWorkerPart(context: PartContext, options: WorkerPartOptions): Promise<void> {
  const { config, log, metrics, wakeups, stops, openPool, windowOf } = context
  const pool = openPool('job_worker', 6)
  const window = await windowOf(pool)
  if (options.cleaner) {
    const intervalMs = Math.max(CLEANER_MS_MIN, config.leaseMs * CLEANER_SHARE)
    const cleaner = startCleaner({ pool, window: window.current, wakeups, log, metrics, intervalMs })
    stops.add('work', 'cleaner', () => cleaner.stop())
  }
  if (options.worker) await startSending(context, pool, window.current, options)
}

async function startSending(
  { config, log, metrics, wakeups, stops, processId, pollMs }: PartContext,
  pool: pg.Pool,
  window: () => WorkWindow,
  { extraCertificateAuthorities, breakerPolicy }: WorkerPartOptions,
): Promise<void> {
  const box = createSecretBox(masterKeyOf(config))
  await checkMasterKey(pool, box)
  const sender = createWebhookSender({
    requestTimeoutMs: config.requestTimeoutMs,
    allowedCidrs: parseAllowedCidrs(config.allowedCidrs),
    ...(extraCertificateAuthorities && {
      extraCertificateAuthorities: extraCertificateAuthorities,
    }),
  })
  stops.add('records', 'connections to receivers', () => sender.close())
  const worker = startWorker({
    pool,
    sender,
    readSecrets: (ids) => readableSecrets(pool, box, ids, log),
    window,
    wakeups,
    log,
    metrics,
    workerId: processId,
    concurrency: config.concurrency,
    leaseMs: config.leaseMs,
    requestTimeoutMs: config.requestTimeoutMs,
    pollMs,
    ...(breakerPolicy && { breakerPolicy: breakerPolicy }),
  })
  stops.add('work', 'worker', () => worker.stop())
}

async function readableSecrets(
  pool: pg.Pool,
  box: ReturnType<typeof createSecretBox>,
  ids: readonly string[],
  log: Logger,
): Promise<Map<string, readonly SigningSecret[]>> {
  const secrets = new Map<string, readonly SigningSecret[]>()
  for (const [id, found] of await readSigningSecrets(pool, box, ids)) {
    if (found.readable) secrets.set(id, found.secrets)
    else log.error({ err: found.error, subscription_id: id }, 'the secret of a subscription cannot be read')
  }
  return secrets
}
